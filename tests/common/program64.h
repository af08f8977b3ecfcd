/* What a program's float32 results approximate: one element in float64. */
#ifndef TEST_PROGRAM64_H
#define TEST_PROGRAM64_H

#include "program/program.h"

void test_program_element(const cvy_program *program, const double *inputs,
                          const cvy_program_place *place, double *results);

#endif
