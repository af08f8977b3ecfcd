/* What the OpenCL algorithms share as pure C on (problem, device facts). It is part of libconvoy,
 * where jobs are chosen, and of the module, where they run; nothing here calls OpenCL.
 *
 * Each algorithm has a header of its own with its row of the table and its plan. A plan holds what
 * the launch code and the algorithm's functions must agree on, such as sizes of work-groups and the
 * layout of the workspace; one function computes it for both. */
#ifndef CVY_OCL_PLAN_H
#define CVY_OCL_PLAN_H

#include "backend.h"

/* a / b rounded up. */
static inline int64_t cvy_ocl_ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}
/* The least multiple of b that is not below a. */
static inline int64_t cvy_ocl_round_up(int64_t a, int64_t b) {
  return cvy_ocl_ceil_div(a, b) * b;
}

static inline bool cvy_ocl_is_weights(const cvy_problem *problem) {
  return problem->operation == CONVOY_BACKWARD_WEIGHTS;
}

/* Items per work-group, for kernels that need no particular number. */
int64_t cvy_ocl_group_items(const cvy_facts *facts);

/* Whether every index and position of the problem, rounded up to tiles, fits 32 bits. If not, it
 * says why. */
bool cvy_ocl_fits_int(const cvy_problem *problem, cvy_text *reason);

/* Whether indices of ocl.direct need 64 bits. */
bool cvy_ocl_is_wide(const cvy_problem *problem);

/* Into how many slices the long sums of a gradient of weights are cut (split-K), whose result takes
 * `tiles` work-groups: into as many as make `per_unit` work-groups per compute unit, into at most
 * `most`, and into no more than the workspace has room for partial results. */
int64_t cvy_ocl_split_k(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                        int64_t tiles, int64_t most);

/* The most floats of an array of our own that kernels index with 32 bits, rounding up to tiles
 * included. */
#define CVY_OCL_MOST_FLOATS (INT32_MAX - 65536)

/* Bytes of scratch memory that one job may use in one piece. */
int64_t cvy_ocl_scratch_limit(const cvy_facts *facts);

/* Whether kernels can index so many floats of scratch memory, and a job may use them. */
bool cvy_ocl_fits_scratch(int64_t floats, const cvy_facts *facts);

/* The largest of a parameter's values that is at most `most`, or else its first. */
int32_t cvy_ocl_listed(const cvy_param *param, int64_t most);

/* The tile of a matrix product: a work-group computes bm x bn results in steps of bk terms, one of
 * its items tm x tn of them. */
typedef struct cvy_ocl_tile {
  int64_t bm, bn, bk, tm, tn;
} cvy_ocl_tile;

/* A tiled matrix product per group of the problem. Its extents are those of the matrices, and `_up`
 * the same rounded up to whole tiles; those that an algorithm does not have are 0. */
typedef struct cvy_ocl_product {
  int64_t rows, columns; /* of the result */
  int64_t depth;         /* channels that are summed over, or that a row of weights has */
  int64_t rows_up, columns_up, depth_up;
  int64_t row_tiles, column_tiles;
  int64_t slices; /* of the sum */
  int64_t
      slice_length; /* of one slice, in the kernel's unit: terms, blocks of channels or positions */
} cvy_ocl_product;

#endif
