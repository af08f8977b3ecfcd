/* What the two halves of ocl.implicit_gemm share: how a problem is cut up, and what cut to begin with. */
#ifndef CVY_OCL_IMPLICIT_GEMM_H
#define CVY_OCL_IMPLICIT_GEMM_H

#include "ocl/ocl.h"

/* Its parameters, in the order of its list. SLICES: forward, backward_data: slices of the sum;
 * backward_weights: work-groups per compute unit that the slices shall make. SPACE: 1 = extents of
 * space are run-time arguments, 2 = compiled in. */
enum { GEMM_BM, GEMM_BN, GEMM_BK, GEMM_TM, GEMM_TN, GEMM_SLICES, GEMM_SPACE, GEMM_PARAMS };

/* The matrix product a problem amounts to, per group. */
typedef struct cvy_gemm_sides {
  int64_t rows, columns; /* of the result; columns of the largest phase */
  int64_t depth;         /* channels summed over, or in one row of weights */
  int64_t terms;         /* of one sum: (channel, tap) of a phase, or positions of all images */
  int64_t phases, busy;  /* of backward_data; busy ones meet a tap, the others are zero */
} cvy_gemm_sides;
cvy_gemm_sides cvy_gemm_sides_of(const cvy_problem *problem);

/* backward_data of 1x1 filters with a stride: most of the result is 0. The product is made as if there
 * were no stride, and its results are spread over the array afterwards. */
bool cvy_gemm_is_spread(const cvy_problem *problem);
/* The problem whose product it is: itself, or the one without stride. */
cvy_problem cvy_gemm_product(const cvy_problem *problem);

/* Whether the parameters can run, by divisibility, device limits and workspace. */
bool cvy_gemm_valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts);

/* Always valid for an accepted problem. */
void cvy_gemm_defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out);

static inline bool cvy_of_weights(const cvy_problem *problem) {
  return problem->direction == CONVOY_BACKWARD_WEIGHTS;
}

#endif
