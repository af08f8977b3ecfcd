/* ocl.im2col_clblast: its row of the table, and how it cuts up a problem. */
#ifndef CVY_OCL_IM2COL_CLBLAST_H
#define CVY_OCL_IM2COL_CLBLAST_H

#include "ocl/plan.h"
#include "ocl/rows.h"

typedef struct cvy_ocl_im2col_clblast_plan {
  bool plain;      /* 1x1 without stride and padding: the array is its own column buffer */
  int64_t image;   /* floats of one image's columns, of all groups */
  int64_t images;  /* that share a column buffer */
  int64_t product; /* floats behind it for the temporary memory of CLBlast's product */
} cvy_ocl_im2col_clblast_plan;

cvy_ocl_im2col_clblast_plan cvy_ocl_im2col_clblast_plan_for(const cvy_problem *problem,
                                                            const cvy_facts *facts);

#endif
