/* Picks the inner loops for this processor. */
#include "cpu/lanes.h"

const cvy_lanes *cvy_lanes_best(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return &cvy_lanes_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &cvy_lanes_avx2;
#endif
  return &cvy_lanes_baseline;
}
