/* ocl.long_rows: its row of the table, and how it cuts up a problem. */
#ifndef CVY_OCL_LONG_ROWS_H
#define CVY_OCL_LONG_ROWS_H

#include "ocl/plan.h"
#include "ocl/rows.h"

typedef struct cvy_ocl_long_rows_plan {
  int64_t channels;         /* per item */
  int64_t columns;          /* results per item and channel; backward_weights: taps */
  int64_t items;            /* per work-group */
  int64_t blocks;           /* of channels */
  int64_t items_per_result; /* of forward and backward_data: they share its sum */
  int64_t work_groups;
  /* The rest is for backward_weights. */
  int64_t across, along; /* items of a work-group for the taps and for the positions */
  int64_t positions;     /* of a row that are in local memory together */
  int64_t pieces;        /* of so many positions, in the rows of all images */
  int64_t slices;        /* of the sum */
  int64_t slice_length;  /* pieces per slice */
  int64_t scratch;       /* floats of partial results */
} cvy_ocl_long_rows_plan;

cvy_ocl_long_rows_plan cvy_ocl_long_rows_plan_for(const cvy_problem *problem,
                                                  const cvy_facts *facts, const cvy_params *params);

#endif
