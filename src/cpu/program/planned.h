/* The programs that plans of networks have beside the named ones (program/named.h): what the
 * planner makes of batch norms, activations, their gradients and optimizers that follow one
 * another. The build compiles them ahead, too. A program that is not here is interpreted, which
 * gives the same bits in up to twice the time; tests/nets looks whether the networks' are. */
#ifndef CVY_CPU_PROGRAM_PLANNED_H
#define CVY_CPU_PROGRAM_PLANNED_H

#include "program/named.h"

typedef struct cvy_planned_program {
  const char *numbers;  /* names of the inputs that are one number for a run of elements */
  const char *constant; /* name of the last input if it stands for a constant of any value */
  const char *text;
} cvy_planned_program;

extern const cvy_planned_program cvy_planned_programs[];
extern const int cvy_planned_count;

#endif
