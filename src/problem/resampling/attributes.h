/* What a problem of the family of resampling says (problem/resampling/resampling.h). */
#ifndef CVY_RESAMPLING_ATTRIBUTES_H
#define CVY_RESAMPLING_ATTRIBUTES_H

#include "problem/view.h"

/* Of rank 3: missing leading axes have extents 1 and the step that these have. */
typedef struct cvy_resampling_problem {
  int32_t rank; /* as the caller gave it, for text only */
  int32_t mode; /* convoy_interpolation */
  int64_t n, c;
  int64_t in[3], out[3]; /* z h w, oz oh ow */
  float step[3];         /* elements of x from one of y to the next */
  float reserved;        /* 0 */
  cvy_array_view x, y;   /* how x and y lie, or their gradients */
} cvy_resampling_problem;

#endif
