/* How cpu.depthwise lays out a channel and lists its taps. */
#ifndef CVY_CPU_DEPTHWISE_H
#define CVY_CPU_DEPTHWISE_H

#include "cpu/planes.h"
#include "cpu/row.h"

/* Outputs per group, at most; with more, a matrix product is faster, except where they are summed into
 * one channel. */
#define CVY_DEPTHWISE_OUTPUTS 2
#define CVY_DEPTHWISE_SUMMED 64

typedef struct cvy_depthwise_plan {
  cvy_problem p; /* merged */
  cvy_planes_layout layout;
  int64_t outputs; /* per group */
  int64_t phases;  /* of all strides together */
  bool dense;      /* backward_data sums all taps for each place of x; else each tap is added */
  int64_t reach;   /* zeros before y: as far as the last tap lies behind the first */
  int64_t y_pitch; /* from output to output of a group */
  int64_t x_floats, y_floats; /* of a slot, margins included */
  int64_t list_floats;        /* shared by all slots */
  int64_t slots, slot_floats;
} cvy_depthwise_plan;

typedef struct cvy_depthwise {
  const cvy_cpu_call *call;
  cvy_depthwise_plan plan;
  /* Where taps read: forward and backward_weights from x, in order; backward_data from dy, sorted by
   * the phase they write, begin[i] to begin[i + 1] for phase i; there order[] has their numbers. */
  int64_t *shift, *order, *begin;
  float *slots;
} cvy_depthwise;

/* In place, for the layout refers to the problem beside it. */
void cvy_depthwise_cut(const cvy_problem *problem, const cvy_facts *facts, cvy_depthwise_plan *out);
int64_t cvy_depthwise_bytes(const cvy_depthwise_plan *plan);
/* Makes the lists and finds the slots, in the call's workspace. */
void cvy_depthwise_list(cvy_depthwise *d);

#endif
