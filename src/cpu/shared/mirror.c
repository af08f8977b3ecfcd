/* The mirror image of a convolution. */
#include "cpu/shared/mirror.h"

cvy_problem cvy_mirrored(const cvy_problem *p) {
  cvy_problem m = *p;
  m.direction = CONVOY_FORWARD;
  m.c = p->k;
  m.k = p->c;
  for (int i = 0; i < 3; i++) {
    int64_t first = p->pad[i] / p->stride[i], last = (p->pad[i] + p->in[i] - 1) / p->stride[i];
    int64_t farthest = (p->filter[i] - 1) * p->dilation[i] / p->stride[i];
    m.in[i] = p->out[i];
    m.out[i] = last - first + 1;
    m.filter[i] = farthest + 1;
    m.stride[i] = m.dilation[i] = 1;
    m.pad[i] = farthest - first;
  }
  return m;
}
