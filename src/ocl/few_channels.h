/* ocl.few_channels: its row of the table, and how it cuts up a problem. */
#ifndef CVY_OCL_FEW_CHANNELS_H
#define CVY_OCL_FEW_CHANNELS_H

#include "ocl/plan.h"
#include "ocl/rows.h"

typedef struct cvy_ocl_few_channels_plan {
  int64_t channels, rows, columns; /* results per item */
  int64_t blocks;                  /* of channels */
  int64_t sources;                 /* channels whose weights are in local memory together */
  int64_t weights_per_tap;         /* of a source channel in local memory */
  int64_t elements;                /* items per block of channels */
  int64_t items;                   /* per work-group */
  int64_t work_groups;
} cvy_ocl_few_channels_plan;

cvy_ocl_few_channels_plan cvy_ocl_few_channels_plan_for(const cvy_problem *problem,
                                                        const cvy_facts *facts,
                                                        const cvy_params *params);

#endif
