/* ocl.implicit_gemm: its row of the table, how it cuts up a problem, and which cut it
 * begins with. */
#ifndef CVY_OCL_IMPLICIT_GEMM_H
#define CVY_OCL_IMPLICIT_GEMM_H

#include "ocl/plan.h"
#include "ocl/rows.h"

/* Its parameters, in the order of its list. SLICES of forward and backward_data is the number of
 * slices of the sum, of backward_weights the number of work-groups per compute unit that the slices
 * shall make. With SPACE 1 the extents of space are run-time arguments, with 2 they are compiled
 * in. */
enum { GEMM_BM, GEMM_BN, GEMM_BK, GEMM_TM, GEMM_TN, GEMM_SLICES, GEMM_SPACE, GEMM_PARAMS };

typedef struct cvy_ocl_implicit_gemm_plan {
  cvy_ocl_tile tile;
  int64_t items; /* per work-group */
  cvy_ocl_product product;
  bool compiled; /* the extents of space are compiled in */
  bool packs;    /* weights are packed first; forward and backward_data */
  bool scatters; /* partial results are of the product without stride */
  int64_t work_groups;
  int64_t packed;  /* floats of the packed weights, if they are */
  int64_t scratch; /* floats: a partial result per slice, where there are several or they are
                      scattered */
} cvy_ocl_implicit_gemm_plan;

cvy_ocl_implicit_gemm_plan cvy_ocl_implicit_gemm_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts,
                                                          const cvy_params *params);

/* The matrix product that a problem amounts to, per group. */
typedef struct cvy_ocl_implicit_gemm_extents {
  int64_t rows, columns; /* of the result; the columns of the largest phase */
  int64_t depth;         /* channels that are summed over, or that a row of weights has */
  int64_t terms;         /* of one sum: (channel, tap) of a phase, or positions of all images */
  int64_t phases, busy;  /* of backward_data; the busy ones meet a tap, the others are zero */
} cvy_ocl_implicit_gemm_extents;

cvy_ocl_implicit_gemm_extents cvy_ocl_implicit_gemm_extents_of(const cvy_problem *problem);

/* Whether the problem is backward_data of a 1x1 filter with a stride, most of whose result is 0.
 * Then the product is made as if there were no stride, and its results are scattered over the array
 * afterwards. */
bool cvy_ocl_implicit_gemm_scatters(const cvy_problem *problem);
/* The problem whose product is made: the problem itself, or the one without stride. */
cvy_problem cvy_ocl_implicit_gemm_product(const cvy_problem *problem);

/* Whether the parameters can run, by divisibility, limits of the device and workspace. */
bool cvy_ocl_implicit_gemm_valid(const cvy_params *params, const cvy_problem *problem,
                                 const cvy_facts *facts);

/* The parameters to begin with. They are valid for every problem that the row accepts. */
void cvy_ocl_implicit_gemm_defaults(const cvy_problem *problem, const cvy_facts *facts,
                                    cvy_params *out);

#endif
