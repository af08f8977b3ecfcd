/* ocl.depthwise: its row of the table, and how it cuts up a problem. */
#ifndef CVY_OCL_DEPTHWISE_H
#define CVY_OCL_DEPTHWISE_H

#include "ocl/plan.h"
#include "ocl/rows.h"

typedef struct cvy_ocl_depthwise_plan {
  bool compiled;         /* the geometry is compiled in */
  int64_t rows, columns; /* results per item of forward and backward_data */
  int64_t elements;      /* items that these results take */
  int64_t items;         /* per work-group */
  int64_t work_groups;   /* of backward_weights, as all that follows */
  int64_t chunk;         /* taps per work-group */
  int64_t slices;        /* of the sum */
  int64_t slice_length;  /* positions per slice */
  int64_t scratch;       /* floats of partial results */
} cvy_ocl_depthwise_plan;

cvy_ocl_depthwise_plan cvy_ocl_depthwise_plan_for(const cvy_problem *problem,
                                                  const cvy_facts *facts, const cvy_params *params);

#endif
