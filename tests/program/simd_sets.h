/* The loops of programs that this processor can run: one set per instruction set. */
#ifndef TEST_PROGRAM_SIMD_SETS_H
#define TEST_PROGRAM_SIMD_SETS_H

#include "cpu/program/simd.h"

extern const cvy_program_simd *test_sets[3];
extern int test_set_count;

/* Finds them and prints their names. */
void test_find_sets(void);

/* The program that was compiled ahead, with the constant that its last input may stand for. */
cvy_program test_program_ahead(const cvy_fused_program *fused, float constant);

#endif
