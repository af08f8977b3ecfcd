/* The gradients of pooling, which are pooling of the same windows the other way. */
#include "problem/pooling/pooling.h"

/* The same windows, of another operation of the family. */
static cvy_gradient_step *add_step(const cvy_problem *problem, int32_t operation,
                                   cvy_gradient *out) {
  cvy_gradient_step *step = cvy_gradient_add(out);
  cvy_problem_copy(&step->problem, problem);
  step->problem.operation = operation;
  step->problem.accumulate = 0;
  return step;
}

convoy_status cvy_pooling_max_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                       cvy_gradient *out) {
  cvy_gradient_step *step = add_step(problem, CVY_POOLING_MAX_BACKWARD, out);
  (void)wanted, (void)given; /* there is one of each */
  step->in[0] = (cvy_gradient_operand){CVY_GRADIENT_INPUT, 0, 0};
  step->in[1] = (cvy_gradient_operand){CVY_GRADIENT_OF_OUTPUT, 0, 0};
  out->of[0] = cvy_gradient_result(out, 0);
  return CONVOY_OK;
}

/* Where a maximum lies does not change with x, but what dy's gradient would be is no pooling: the
 * elements of an array at the places of another's maxima. */
convoy_status cvy_pooling_max_backward_gradient(const cvy_problem *problem, uint32_t wanted,
                                                uint32_t given, cvy_gradient *out) {
  enum { DY = 1 };
  (void)given, (void)out;
  if (!(wanted >> DY & 1)) return CONVOY_OK;
  return cvy_gradient_refuse(problem, "dy has no gradient in a maximum's gradient");
}

convoy_status cvy_pooling_average_gradient(const cvy_problem *problem, uint32_t wanted,
                                           uint32_t given, cvy_gradient *out) {
  bool backward = cvy_pooling_is_backward(problem);
  int32_t other = backward ? CVY_POOLING_AVERAGE : CVY_POOLING_AVERAGE_BACKWARD;
  (void)wanted, (void)given; /* there is one of each */
  add_step(problem, other, out)->in[0] = (cvy_gradient_operand){CVY_GRADIENT_OF_OUTPUT, 0, 0};
  out->of[0] = cvy_gradient_result(out, 0);
  return CONVOY_OK;
}
