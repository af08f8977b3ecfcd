/* Convolutions in which each output sees the one input at its own place: 1x1 without stride or
 * padding. Their arrays can be read as they lie. */
#ifndef CVY_CPU_SHARED_POINTWISE_H
#define CVY_CPU_SHARED_POINTWISE_H

#include "conv/problem.h"

static inline bool cvy_is_pointwise(const cvy_problem *p) {
  for (int i = 0; i < 3; i++) {
    bool moves = p->filter[i] != 1 || p->stride[i] != 1;
    if (moves || p->pad[i] != 0 || p->in[i] != p->out[i]) return false;
  }
  return true;
}

#endif
