/* All operations, by number. */
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"
#include "problem/move/move.h"
#include "problem/pooling/pooling.h"
#include "problem/program/program.h"
#include "problem/resampling/resampling.h"

const cvy_operation *const cvy_operations[] = {
    [CVY_CONV_FORWARD] = &cvy_conv_forward,
    [CVY_CONV_BACKWARD_DATA] = &cvy_conv_backward_data,
    [CVY_CONV_BACKWARD_WEIGHTS] = &cvy_conv_backward_weights,
    [CVY_CONV_BACKWARD_BIAS] = &cvy_conv_backward_bias,
    [CVY_PROGRAM] = &cvy_program_operation,
    [CVY_REDUCE] = &cvy_reduce_operation,
    [CVY_MATMUL] = &cvy_matmul_operation,
    [CVY_POOLING_MAX] = &cvy_pooling_max,
    [CVY_POOLING_MAX_BACKWARD] = &cvy_pooling_max_backward,
    [CVY_POOLING_AVERAGE] = &cvy_pooling_average,
    [CVY_POOLING_AVERAGE_BACKWARD] = &cvy_pooling_average_backward,
    [CVY_MOVE_COPY] = &cvy_move_copy_operation,
    [CVY_MOVE_CONCATENATE] = &cvy_move_concatenate_operation,
    [CVY_RESAMPLING_NEAREST] = &cvy_resampling_nearest,
    [CVY_RESAMPLING_NEAREST_BACKWARD] = &cvy_resampling_nearest_backward,
    [CVY_RESAMPLING_LINEAR] = &cvy_resampling_linear,
    [CVY_RESAMPLING_LINEAR_BACKWARD] = &cvy_resampling_linear_backward,
};
const int32_t cvy_operation_count = CVY_COUNT(cvy_operations);
