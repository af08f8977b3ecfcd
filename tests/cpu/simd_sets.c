#include "cpu/simd_sets.h"

#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"

const cvy_simd *sets[3];
int set_count;
float x[ROOM], y[ROOM], expected[ROOM], w[8];

void find_sets(void) {
  sets[set_count++] = &cvy_simd_baseline;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets[set_count++] = &cvy_simd_avx2;
  if (__builtin_cpu_supports("avx512f")) sets[set_count++] = &cvy_simd_avx512;
#endif
}

void fill(void) {
  test_random random = {42};
  test_fill_integers(&random, x, ROOM);
  test_fill_integers(&random, y, ROOM);
  test_fill_integers(&random, w, 8);
  memcpy(expected, y, sizeof expected);
}

void expect_equal(void) {
  assert_memory_equal(y, expected, sizeof expected);
}
