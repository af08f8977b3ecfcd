/* Matrix products by CLBlast, for the algorithms that leave theirs to it. */
#ifndef CVY_OCL_ENGINE_CLBLAST_H
#define CVY_OCL_ENGINE_CLBLAST_H

#include "ocl/engine/launch.h"

/* A row-major matrix of a product: where it begins, how far apart its rows are, and whether it is
 * taken transposed. */
typedef struct clblast_matrix {
  span at;
  int64_t pitch;
  bool transposed;
} clblast_matrix;

/* What the products of a job share. */
typedef struct clblast_products {
  cvy_device *device;
  runtime_memory *temporary; /* CLBlast's, inside our workspace; NULL: it makes its own */
  int64_t bytes;
} clblast_products;

/* With so many floats of workspace from `scratch` on (cvy_ocl_clblast_scratch). */
convoy_status clblast_products_open(cvy_device *device, span scratch, int64_t floats,
                                    clblast_products *out);
void clblast_products_close(clblast_products *products);

/* c = a b + beta c; m by n results of k terms, in pieces of columns, none of which keeps the card
 * busy for long. CLBlast's programs and launches are its own business, so a dry run prepares
 * nothing, and the job cannot be captured. */
convoy_status clblast_multiply(const clblast_products *products, int64_t m, int64_t n, int64_t k,
                               clblast_matrix a, clblast_matrix b, clblast_matrix c, float beta);

#endif
