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

/* How matrices lie: elements from row to row, and from one product's matrix to the next one's. */
typedef struct cvy_matmul_layout {
  int64_t row, step;
} cvy_matmul_layout;

/* The products that engines make. Images that are parts of larger tensors become rows or terms only
 * where each is a single row. */
typedef struct cvy_matmul_products {
  cvy_matmul_problem p; /* folded */
  cvy_matmul_layout a, b, y;
} cvy_matmul_products;

cvy_matmul_products cvy_matmul_products_of(const cvy_problem *problem);

/* gradient.c: the problem that makes the gradient of input `i`, a or b, of y's gradient and of the
 * other input. *y_first: in this order, else y's gradient comes second. */
void cvy_matmul_gradient(const cvy_problem *problem, int32_t i, cvy_problem *out, bool *y_first);

/* The problem as the operands' shapes have it, which cvy_matmul_make has accepted: before its
 * images are counted. */
void cvy_matmul_as_written(uint32_t flags, const cvy_shape *a, const cvy_shape *b,
                           cvy_problem *out);

/* The row's gradient. */
convoy_status cvy_matmul_gradients(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                   cvy_gradient *out);

/* text.c: "matmul a8x128x64t b8x128x32 sum": the extents of the arrays as they lie, that of the
 * batch first where there is one, with t where a side is transposed, and "sum"; then which are
 * parts of larger tensors: "matmul a32x64 b64x10, a 96 apart by 4". Where there is no batch, the
 * images that are so far apart are the rows, or terms, that the problem counts. */
void cvy_matmul_print(const cvy_problem *problem, char *text, size_t size);
/* Of one product out of a batch the text would say that its rows are the images. */
bool cvy_matmul_readable(const cvy_problem *problem);
bool cvy_matmul_parse(const char *text, cvy_problem *out);
/* convoy_parse_matmul: ERR_ARGUMENT with the place of what is wrong, and as cvy_matmul_make. */
convoy_status cvy_matmul_read(const char *text, uint32_t *flags, cvy_shape *a, cvy_shape *b,
                              cvy_shape *y, cvy_problem *out);

#endif
