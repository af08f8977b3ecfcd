/* What a problem of the family of pooling says (problem/pooling/pooling.h). */
#ifndef CVY_POOLING_ATTRIBUTES_H
#define CVY_POOLING_ATTRIBUTES_H

#include "problem/view.h"

/* Of rank 3: missing leading axes have extent, window and stride 1. */
typedef struct cvy_pooling_problem {
  int32_t rank;          /* as the caller gave it, for text only */
  int32_t count_padding; /* averages: padding counts in the divisor */
  int32_t ceil;          /* the last window may reach beyond the padding */
  int32_t reserved;      /* 0 */
  int64_t n, c;
  int64_t in[3], window[3], out[3]; /* z h w, t r s, oz oh ow */
  int64_t stride[3], dilation[3];
  int64_t pad[3], pad_end[3];
  cvy_array_view x, y, dx; /* how the operands lie, dy as y; 0 of what is none */
} cvy_pooling_problem;

#endif
