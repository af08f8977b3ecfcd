/* ocl.copy: its plan. */
#ifndef CVY_OCL_COPY_H
#define CVY_OCL_COPY_H

#include "ocl/plan.h"
#include "ocl/rows.h"

enum { CVY_OCL_NOT_ACROSS = -1 };

typedef struct cvy_ocl_copy_plan {
  bool wide;      /* indices need 64 bits */
  bool filled;    /* not all of y is of x */
  bool stepped;   /* elements are apart in y */
  int32_t width;  /* neighbours that an item makes, 1 or 4 */
  int32_t across; /* copied in tiles: the axis whose elements are neighbours in x */
  int64_t tile;   /* rows and columns of one */
  int64_t group_items;
  int64_t rows_of_tiles, columns_of_tiles;
  int64_t items, work_groups;
} cvy_ocl_copy_plan;

cvy_ocl_copy_plan cvy_ocl_copy_plan_for(const cvy_problem *problem, const cvy_facts *facts);

#endif
