/* The programs that were compiled ahead. */
#include "cpu/program/simd.h"

const cvy_fused_program cvy_fused_programs[] = {
#include "cpu/program/fused_programs.h"
};

const int cvy_fused_count = CVY_COUNT(cvy_fused_programs);
