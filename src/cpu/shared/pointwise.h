/* Convolutions in which each output sees the one input at its own place: 1x1 without stride or
 * padding. Their arrays can be read as they lie. */
#ifndef CVY_CPU_SHARED_POINTWISE_H
#define CVY_CPU_SHARED_POINTWISE_H

#include "problem/conv/conv.h"

static inline bool cvy_is_pointwise(const cvy_problem *p) {
  for (int i = 0; i < 3; i++) {
    bool moves = p->conv.filter[i] != 1 || p->conv.stride[i] != 1;
    if (moves || p->conv.pad[i] != 0 || p->conv.in[i] != p->conv.out[i]) return false;
  }
  return true;
}

#endif
