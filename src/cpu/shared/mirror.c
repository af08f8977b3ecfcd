/* The mirror image of a convolution. */
#include "cpu/shared/mirror.h"

cvy_problem cvy_mirrored(const cvy_problem *p) {
  cvy_problem m;
  cvy_problem_copy(&m, p);
  m.operation = CONVOY_FORWARD;
  m.conv.c = p->conv.k;
  m.conv.k = p->conv.c;
  m.conv.x = p->conv.y;
  m.conv.y = p->conv.x;
  for (int i = 0; i < 3; i++) {
    int64_t first = p->conv.pad[i] / p->conv.stride[i],
            last = (p->conv.pad[i] + p->conv.in[i] - 1) / p->conv.stride[i];
    int64_t farthest = (p->conv.filter[i] - 1) * p->conv.dilation[i] / p->conv.stride[i];
    m.conv.in[i] = p->conv.out[i];
    m.conv.out[i] = last - first + 1;
    m.conv.filter[i] = farthest + 1;
    m.conv.stride[i] = m.conv.dilation[i] = 1;
    m.conv.pad[i] = farthest - first;
  }
  return m;
}
