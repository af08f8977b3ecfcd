/* All operations, by number. */
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"
#include "problem/program/program.h"

const cvy_operation *const cvy_operations[] = {
    [CVY_CONV_FORWARD] = &cvy_conv_forward,
    [CVY_CONV_BACKWARD_DATA] = &cvy_conv_backward_data,
    [CVY_CONV_BACKWARD_WEIGHTS] = &cvy_conv_backward_weights,
    [CVY_CONV_BACKWARD_BIAS] = &cvy_conv_backward_bias,
    [CVY_PROGRAM] = &cvy_program_operation,
    [CVY_REDUCE] = &cvy_reduce_operation,
    [CVY_MATMUL] = &cvy_matmul_operation,
};
const int32_t cvy_operation_count = CVY_COUNT(cvy_operations);
