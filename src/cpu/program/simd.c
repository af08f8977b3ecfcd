/* The loops that belong to the instruction set of cvy_simd_best(). */
#include "cpu/program/simd.h"

#include "cpu/isa/simd.h"

const cvy_program_simd *cvy_program_simd_best(void) {
#if defined(__x86_64__)
  const cvy_simd *simd = cvy_simd_best();
  if (simd == &cvy_simd_avx512) return &cvy_program_simd_avx512;
  if (simd == &cvy_simd_avx2) return &cvy_program_simd_avx2;
#endif
  return &cvy_program_simd_baseline;
}
