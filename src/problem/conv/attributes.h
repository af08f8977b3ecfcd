/* What a problem of the family of convolutions says (problem/conv/conv.h). */
#ifndef CVY_CONV_ATTRIBUTES_H
#define CVY_CONV_ATTRIBUTES_H

#include "problem/view.h"

/* Of rank 3 (missing leading axes have extent, filter and stride 1) and never transposed. */
typedef struct cvy_conv_problem {
  int32_t has_bias; /* epilogue: out = act(result + bias[channel of out]); never with accumulate */
  int32_t activation; /* convoy_activation */
  float slope;
  int32_t rank; /* this, transposed and pad_end: as the caller gave it, for text only */
  int64_t n, c, k, groups;
  int64_t in[3], filter[3], out[3]; /* z h w, t r s, oz oh ow */
  int64_t stride[3], dilation[3];
  int64_t pad[3]; /* at the beginning; the end's padding is already in `out` */
  int64_t transposed, pad_end[3];
  cvy_array_view x, y; /* how x or dx lies, and y or dy; 0 of what is no operand */
} cvy_conv_problem;

#endif
