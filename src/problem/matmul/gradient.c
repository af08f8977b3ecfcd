/* The gradients of a product, which are products. */
#include "problem/matmul/matmul.h"

void cvy_matmul_gradient(const cvy_problem *problem, int32_t i, cvy_problem *out, bool *y_first) {
  const cvy_matmul_problem p = cvy_matmul_folded(problem);
  bool of_a = i == 0, lies_transposed = of_a ? p.a_transposed : p.b_transposed;
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof out->matmul);
  out->operation = CVY_MATMUL;
  /* Of a as it lies dy b^T, transposed b dy^T; of b a^T dy, transposed dy^T a. */
  *y_first = of_a != lies_transposed;
  cvy_matmul_problem *g = &out->matmul;
  g->batch = p.batch;
  g->m = of_a == lies_transposed ? p.k : of_a ? p.m : p.n;
  g->n = of_a == lies_transposed ? (of_a ? p.m : p.n) : p.k;
  g->k = of_a ? p.n : p.m;
  bool dy_transposed = lies_transposed, other_transposed = of_a ? !p.b_transposed : !p.a_transposed;
  if (lies_transposed) other_transposed = !other_transposed;
  int32_t other_shared = of_a ? p.b_shared : p.a_shared;
  g->a_transposed = *y_first ? dy_transposed : other_transposed;
  g->b_transposed = *y_first ? other_transposed : dy_transposed;
  g->a_shared = *y_first ? p.summed : other_shared;
  g->b_shared = *y_first ? other_shared : p.summed;
  g->summed = of_a ? p.a_shared : p.b_shared;
  cvy_matmul_unfold(out);
}

convoy_status cvy_matmul_gradients(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                   cvy_gradient *out) {
  (void)given; /* there is one output */
  for (int32_t i = 0; i < 2; i++) {
    bool y_first;
    if (!(wanted >> i & 1)) continue;
    cvy_gradient_step *step = cvy_gradient_add(out);
    cvy_matmul_gradient(problem, i, &step->problem, &y_first);
    step->in[!y_first] = (cvy_gradient_operand){CVY_GRADIENT_OF_OUTPUT, 0, 0};
    step->in[y_first] = (cvy_gradient_operand){CVY_GRADIENT_INPUT, 1 - i, 0};
    out->of[i] = cvy_gradient_result(out, 0);
  }
  return CONVOY_OK;
}
