/* The loops that belong to the instruction set of cvy_lanes_best(). */
#include "cpu/program/simd.h"

#include "cpu/lanes.h"

const cvy_program_simd *cvy_program_simd_best(void) {
#if defined(__x86_64__)
  const cvy_lanes *lanes = cvy_lanes_best();
  if (lanes == &cvy_lanes_avx512) return &cvy_program_simd_avx512;
  if (lanes == &cvy_lanes_avx2) return &cvy_program_simd_avx2;
#endif
  return &cvy_program_simd_baseline;
}
