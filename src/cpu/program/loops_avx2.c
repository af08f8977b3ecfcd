/* The loops of programs for AVX2+FMA. */
#define WIDTH 8
#define SIMD cvy_program_simd_avx2
#define SIMD_NAME "avx2"
#include "cpu/program/loops_body.h"
