/* The OpenCL algorithms as pure C on (problem, device facts): part of libconvoy, where jobs are
 * chosen, and of the module, where they run. No OpenCL here. What launch code and these functions
 * must agree on (work-group sizes, workspace layout) is a plan, computed by one function for both. */
#ifndef CVY_OCL_H
#define CVY_OCL_H

#include "backend.h"

extern const cvy_algorithm cvy_ocl_depthwise;
extern const cvy_algorithm cvy_ocl_winograd;
extern const cvy_algorithm cvy_ocl_implicit_gemm;
extern const cvy_algorithm cvy_ocl_im2col_clblast;
extern const cvy_algorithm cvy_ocl_direct;
extern const cvy_algorithm cvy_ocl_strided_data;
extern const cvy_algorithm cvy_ocl_few_channels;
extern const cvy_algorithm cvy_ocl_long_rows;

/* Items per work-group of kernels that need no particular number. */
int64_t cvy_ocl_group_items(const cvy_facts *facts);

/* Slices of the sums of a gradient of weights whose result takes `tiles` work-groups: as many as make `per_unit`
 * work-groups per compute unit, at most `most`, no more partial results than the workspace takes. */
int64_t cvy_ocl_slices(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                       int64_t tiles, int64_t most);

/* Whether every index and position of the problem, rounded up to tiles, fits 32 bits. If not, says
 * why. */
bool cvy_ocl_fits_int(const cvy_problem *problem, cvy_text *reason);

/* Whether indices of ocl.direct need 64 bits. */
bool cvy_ocl_is_wide(const cvy_problem *problem);

/* a / b rounded up. */
static inline int64_t cvy_ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}
static inline int64_t cvy_round_up(int64_t a, int64_t b) {
  return cvy_ceil_div(a, b) * b;
}

/* ocl.implicit_gemm: how a problem is cut up. */
typedef struct cvy_gemm_tile {
  int64_t bm, bn, bk, tm, tn;
} cvy_gemm_tile;

typedef struct cvy_gemm_plan {
  cvy_gemm_tile tile;
  int64_t items;             /* per work-group */
  int64_t rows;              /* of a group's result */
  int64_t depth;             /* channels summed over, or in one row of weights */
  int64_t rows_up, depth_up; /* extents of the packed weights */
  int64_t row_tiles, column_tiles;
  int64_t slices, slice; /* of the sum; a slice in blocks of bk channels, or in positions */
  bool compiled;         /* the extents of space are compiled in */
  bool spread;           /* partial results are of the product without stride */
  int64_t work_groups;
  int64_t packed;  /* elements of the packed weights */
  int64_t scratch; /* elements: a partial result per slice, if several or spread */
} cvy_gemm_plan;
cvy_gemm_plan cvy_gemm_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                const cvy_params *params);

/* ocl.winograd: pieces of the batch and the matrix products of one: a [depth_up][rows_up] times
 * b [depth_up][columns_up], per matrix. backward_weights: a is the gradient, b the input. */
typedef struct cvy_winograd_plan {
  int64_t tile; /* outputs per tile and axis */
  bool fused;   /* all in one kernel; scratch memory is for slices of a gradient only */
  cvy_gemm_tile product;
  int64_t images;   /* per piece */
  int64_t matrices; /* points x groups */
  int64_t items;    /* per work-group of the products */
  int64_t rows, columns, depth, rows_up, columns_up, depth_up;
  int64_t row_tiles, column_tiles, slices, slice;
  int64_t work_groups;  /* of the products */
  int64_t weights;      /* elements of the transformed weights */
  int64_t b_at, out_at; /* where b and the products lie in the scratch memory */
  int64_t scratch;      /* elements */
  int64_t largest;      /* elements of the largest part */
} cvy_winograd_plan;
cvy_winograd_plan cvy_winograd_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                        const cvy_params *params);

/* ocl.strided_data: how a problem is cut up; as above. */
typedef struct cvy_strided_plan {
  int64_t bm, bn, bk, tm;
  int64_t items, sums; /* per work-group; per item, in all phases */
  int64_t rows, depth, rows_up, depth_up;
  int64_t row_tiles, column_tiles;
  int64_t slices, slice;
  int64_t work_groups;
  int64_t packed, scratch;
} cvy_strided_plan;
cvy_strided_plan cvy_strided_plan_for(const cvy_problem *problem, const cvy_params *params);

/* ocl.few_channels: how it is cut up. */
typedef struct cvy_few_plan {
  int64_t channels, rows, columns; /* results per item */
  int64_t blocks;                  /* of channels */
  int64_t sources;                 /* channels whose weights are in local memory together */
  int64_t elements;                /* items per block of channels */
  int64_t items, work_groups;
} cvy_few_plan;
cvy_few_plan cvy_few_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                              const cvy_params *params);

/* ocl.long_rows: how it is cut up. */
typedef struct cvy_rows_plan {
  int64_t channels, columns; /* results per item; backward_weights: channels and taps */
  int64_t items;             /* per work-group */
  int64_t blocks;            /* of channels */
  int64_t lanes;             /* items that share results */
  /* backward_weights */
  int64_t across, along; /* items for the taps, for the positions */
  int64_t positions;     /* of a row that are in local memory together */
  int64_t pieces;        /* of rows, in all images */
  int64_t slices, slice; /* of the sum; pieces per slice */
  int64_t work_groups;
  int64_t scratch; /* elements: partial results */
} cvy_rows_plan;
cvy_rows_plan cvy_rows_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                const cvy_params *params);

/* ocl.depthwise: how it is cut up. */
typedef struct cvy_depthwise_plan {
  bool compiled;         /* the geometry is compiled in */
  int64_t rows, columns; /* results per item of forward and backward_data */
  int64_t elements;      /* items they take */
  int64_t items;         /* per work-group */
  int64_t chunk;         /* backward_weights: taps per work-group */
  int64_t slices, slice; /* of the sum; positions per slice */
  int64_t work_groups;
  int64_t scratch; /* elements: partial results */
} cvy_depthwise_plan;
cvy_depthwise_plan cvy_depthwise_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                          const cvy_params *params);

/* ocl.im2col_clblast: how many images share a column buffer, and what the product's own temporary
 * may take behind it. */
typedef struct cvy_columns_plan {
  bool plain;      /* 1x1, stride 1, no padding: the array is its own columns */
  int64_t image;   /* elements of one image's columns, all groups */
  int64_t images;  /* per piece */
  int64_t product; /* elements for CLBlast's temporary */
} cvy_columns_plan;
cvy_columns_plan cvy_columns_plan_for(const cvy_problem *problem, const cvy_facts *facts);

#endif
