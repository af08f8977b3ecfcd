#include "program/simd_sets.h"

#include "common/cmocka.h"

const cvy_program_simd *test_sets[3];
int test_set_count;

void test_find_sets(void) {
  test_sets[test_set_count++] = &cvy_program_simd_baseline;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    test_sets[test_set_count++] = &cvy_program_simd_avx2;
  if (__builtin_cpu_supports(TEST_AVX512_NEEDS))
    test_sets[test_set_count++] = &cvy_program_simd_avx512;
#endif
  for (int i = 0; i < test_set_count; i++) print_message("%s\n", test_sets[i]->name);
}
