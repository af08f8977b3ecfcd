/* The loops of programs for AVX-512. */
#define WIDTH 16
#define SIMD cvy_program_simd_avx512
#define SIMD_NAME "avx512"
#include "cpu/program/loops_body.h"
