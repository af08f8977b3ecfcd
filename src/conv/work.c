/* Operations and bytes of a problem. */
#include "conv/problem.h"

double cvy_problem_flops(const cvy_problem *p) {
  double outputs = (double)p->n * (double)p->k * (double)cvy_out_volume(p);
  if (p->direction == CONVOY_BACKWARD_BIAS) return outputs;
  return 2.0 * outputs * (double)(p->c / p->groups) * (double)cvy_filter_volume(p);
}

double cvy_problem_bytes(const cvy_problem *p) {
  cvy_operands operands = cvy_problem_operands(p);
  double elements =
      (double)cvy_problem_count(p, operands.a) + (double)cvy_problem_count(p, operands.out);
  if (operands.has_b) elements += (double)cvy_problem_count(p, operands.b);
  if (p->accumulate) elements += (double)cvy_problem_count(p, operands.out);
  return elements * sizeof(float);
}
