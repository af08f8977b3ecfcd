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

/* Behind the constants that the program has. */
static uint8_t without_input(const cvy_program *of, int input, uint8_t operand) {
  if (operand != CVY_OPERAND_INPUT + input) return operand;
  return (uint8_t)(CVY_OPERAND_CONSTANT + of->constants);
}

cvy_program test_program_ahead(const cvy_fused_program *fused, float constant) {
  cvy_program program = fused->program;
  int last = program.inputs - 1;
  if (!fused->given) return program;
  for (int i = 0; i < program.instructions; i++)
    for (int k = 0; k < 3; k++)
      program.code[i].in[k] = without_input(&fused->program, last, program.code[i].in[k]);
  for (int i = 0; i < program.results; i++)
    program.result[i] = without_input(&fused->program, last, program.result[i]);
  program.constant[program.constants++] = constant;
  program.inputs--;
  return program;
}
