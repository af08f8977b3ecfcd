/* The loops of programs for any processor the compiler targets by default. */
#define WIDTH 4
#define SIMD cvy_program_simd_baseline
#define SIMD_NAME "baseline"
#include "cpu/program/loops_body.h"
