/* The gradient of an operation as problems: what a loss's gradients for the results become for the
 * inputs. A pure function: the caller, who has the arrays, carries the steps out, one after the
 * other. */
#ifndef CVY_PROBLEM_GRADIENT_H
#define CVY_PROBLEM_GRADIENT_H

#include "problem/problem.h"

enum cvy_gradient_source {
  CVY_GRADIENT_NONE,      /* zero everywhere, and so no array */
  CVY_GRADIENT_INPUT,     /* `number` of what the operation read; the one added to is the last */
  CVY_GRADIENT_OUTPUT,    /* `number` of what it made */
  CVY_GRADIENT_OF_OUTPUT, /* the loss's gradient for its output `number`, which was given */
  CVY_GRADIENT_STEP       /* result `output` of step `number` */
};

typedef struct cvy_gradient_operand {
  int32_t source; /* cvy_gradient_source */
  int32_t number, output;
} cvy_gradient_operand;

/* A program has at most a step for each of its inputs, and one before for what they share. */
enum { CVY_GRADIENT_STEPS = 16 };

/* A problem with an operand for each array that it reads. It accumulates nothing. */
typedef struct cvy_gradient_step {
  cvy_gradient_operand in[CVY_MOST_READ];
  cvy_problem problem;
} cvy_gradient_step;

/* Some 20 KiB: to be kept on the heap. */
typedef struct cvy_gradient {
  int32_t steps;
  cvy_gradient_operand of[CVY_MOST_READ]; /* where each input's gradient is: a step's result, one
                                             that was given, or none */
  cvy_gradient_step step[CVY_GRADIENT_STEPS];
} cvy_gradient;

/* `wanted` has a bit for each array of cvy_problem_reads whose gradient is asked for, `given` one
 * for each output that has a gradient; that of the others is 0. Every step is legal, and its arrays
 * have as many elements as what is bound to them. What is not wanted is CVY_GRADIENT_NONE.
 *
 * ERR_UNSUPPORTED with the reason and the problem's text where there is none: of integers, which no
 * operation makes; of parts of larger tensors, which plans come to after gradients are made; of
 * operations without a gradient, and what their files say. */
convoy_status cvy_problem_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                   cvy_gradient *out);

/* The problem that adds two arrays of so many elements: the gradients of two uses of one value.
 * ERR_UNSUPPORTED for a number that no extents make. */
convoy_status cvy_problem_sum(int64_t count, cvy_problem *out);

/* For the rows: a further step, all 0, whose result `output` cvy_gradient_result names. */
cvy_gradient_step *cvy_gradient_add(cvy_gradient *out);
cvy_gradient_operand cvy_gradient_result(const cvy_gradient *of, int32_t output);
/* "REASON: PROBLEM'S TEXT" */
convoy_status cvy_gradient_refuse(const cvy_problem *problem, const char *format, ...)
    CVY_PRINTF(2, 3);

#endif
