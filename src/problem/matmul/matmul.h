/* The family of matrix products: y = a b, batched, either side transposed or the same for the whole
 * batch, and y the products or their sum. So the gradients of a product are products.
 *
 * A problem has as many images as can be: the rows of one product with a as it lies are images, and
 * where both sides are stacked along the sum its terms are. So a linear layer and its gradients can
 * be carried out in pieces, and the number of rows is not in their shape class. Engines want the
 * fewest products instead, which cvy_matmul_folded makes of it. The functions are for problems of
 * this family only. */
#ifndef CVY_MATMUL_H
#define CVY_MATMUL_H

#include "problem/operation.h"

extern const cvy_operation cvy_matmul_operation;

/* Makes the problem of operands of 2 extents, or 3, the first of which is the batch; `flags` are
 * those of convoy_matmul. Writes the shape of the result. ERR_ARGUMENT or ERR_SHAPE with the
 * numbers. */
convoy_status cvy_matmul_make(uint32_t flags, const cvy_shape *a, const cvy_shape *b,
                              cvy_problem *out, cvy_shape *y);

/* operations.c: the row's `legal`. */
bool cvy_matmul_legal(const cvy_problem *problem);

/* making.c: the problem with as many images as can be, one for all that fold to the same. */
void cvy_matmul_unfold(cvy_problem *problem);
/* The same with the fewest and largest products; what is no batch is neither shared nor summed. */
cvy_matmul_problem cvy_matmul_folded(const cvy_problem *problem);
/* Of it: elements from one matrix to the next of the batch. */
static inline int64_t cvy_matmul_a_step(const cvy_matmul_problem *folded) {
  return folded->a_shared ? 0 : folded->m * folded->k;
}
static inline int64_t cvy_matmul_b_step(const cvy_matmul_problem *folded) {
  return folded->b_shared ? 0 : folded->k * folded->n;
}

/* gradient.c: the problem that makes the gradient of input `i`, a or b, of y's gradient and of the
 * other input. *y_first: in this order, else y's gradient comes second. */
void cvy_matmul_gradient(const cvy_problem *problem, int32_t i, cvy_problem *out, bool *y_first);

/* The row's gradient. */
convoy_status cvy_matmul_gradients(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                   cvy_gradient *out);

/* text.c: "matmul a8x128x64t b8x128x32 sum": the extents of the arrays as they lie, that of the
 * batch first where there is one, with t where a side is transposed, and "sum". */
void cvy_matmul_print(const cvy_problem *problem, char *text, size_t size);
bool cvy_matmul_parse(const char *text, cvy_problem *out);
/* convoy_parse_matmul: ERR_ARGUMENT with the place of what is wrong, and as cvy_matmul_make. */
convoy_status cvy_matmul_read(const char *text, uint32_t *flags, cvy_shape *a, cvy_shape *b,
                              cvy_shape *y, cvy_problem *out);

#endif
