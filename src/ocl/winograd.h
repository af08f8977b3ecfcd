/* ocl.winograd: its row of the table, how it cuts up a problem, and which cut it begins with. */
#ifndef CVY_OCL_WINOGRAD_H
#define CVY_OCL_WINOGRAD_H

#include "ocl/plan.h"
#include "ocl/rows.h"

/* Its parameters, in the order of its list. TILE is the number of outputs per tile and axis. SLICES
 * is the number of slices of the sum; of a fused gradient of weights the number of work-groups per
 * compute unit that they shall make. With FUSED 2 one kernel does it all, for TILE 2 and with the
 * extents of space compiled in; with 1 transforms and products are kernels of their own. */
enum {
  WINOGRAD_TILE,
  WINOGRAD_BM,
  WINOGRAD_BN,
  WINOGRAD_BK,
  WINOGRAD_TM,
  WINOGRAD_TN,
  WINOGRAD_SLICES,
  WINOGRAD_FUSED,
  WINOGRAD_PARAMS
};

/* The batch is cut into pieces. The matrix products of a piece are a [depth_up][rows_up] times
 * b [depth_up][columns_up] for each matrix; for backward_weights a is the gradient and b
 * the input. */
typedef struct cvy_ocl_winograd_plan {
  int64_t tile; /* outputs per tile and axis */
  bool fused;   /* all in one kernel; scratch memory is for slices of a gradient only */
  cvy_ocl_tile product_tile;
  cvy_ocl_product product;
  int64_t images;       /* per piece */
  int64_t matrices;     /* points times groups */
  int64_t items;        /* per work-group of the products */
  int64_t work_groups;  /* of the products */
  int64_t weights;      /* floats of the transformed weights */
  int64_t b_at, out_at; /* where b and the products lie in the scratch memory, in floats */
  int64_t scratch;      /* floats */
  int64_t largest;      /* floats of the largest part of it */
} cvy_ocl_winograd_plan;

cvy_ocl_winograd_plan cvy_ocl_winograd_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                                const cvy_params *params);

/* A plan that has no more than the tile, and the extents of the product of so many images. */
cvy_ocl_winograd_plan cvy_ocl_winograd_extents(const cvy_problem *problem, int64_t tile,
                                               int64_t images);

/* Tiles of an image. */
int64_t cvy_ocl_winograd_tiles(const cvy_problem *problem, int64_t tile);

/* Whether the parameters can run, by divisibility, limits of the device and workspace. */
bool cvy_ocl_winograd_valid(const cvy_params *params, const cvy_problem *problem,
                            const cvy_facts *facts);

/* The parameters to begin with. They are valid for every problem that the row accepts. */
void cvy_ocl_winograd_defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out);

/* Whether it is likely to be faster than the rows behind it. */
bool cvy_ocl_winograd_pays(const cvy_problem *problem, const cvy_facts *facts);

#endif
