/* backward_weights of cpu.implicit_gemm: dw = dy x^T, a sum over the outputs of all images.
 *
 * The microkernel wants what is summed along its loop and what is not side by side: x is turned so
 * that the channels of one place are neighbours (padding included), dy so that some outputs of one
 * place are. Then the taps of one filter row and the channels are one run of columns, however few
 * channels there are, and a stride is a step from place to place. */
#ifndef CVY_CPU_IMPLICIT_GEMM_BACKWARD_WEIGHTS_H
#define CVY_CPU_IMPLICIT_GEMM_BACKWARD_WEIGHTS_H

#include "cpu/row.h"

typedef struct cvy_cpu_implicit_gemm_weights_plan {
  cvy_problem p; /* merged */
  const cvy_microkernel *kernel;
  int64_t channels, outputs; /* per group */
  int64_t tiles;             /* of outputs */
  bool folded;             /* the taps of a filter row are columns, else each is a tap of its own */
  int64_t taps;            /* times the columns are read, each from another place */
  int64_t parts, part;     /* of the channels: how many, how many channels each */
  int64_t bundle, bundles; /* channels turned together: a strip wide where there are so many */
  int64_t pitch;           /* columns of a bundle, whole vectors */
  int axis;                /* the one whose outputs are cut into blocks */
  int64_t block, blocks;
  int64_t images, units; /* images of a unit of work, and units in all */
  int64_t slices;        /* of the units, each with a sum of its own */
  int64_t x_floats;      /* of one image and bundle of a unit */
  int64_t y_floats;      /* of one image and tile */
  int64_t row_floats;    /* one row of x before it is turned, where a stride skips */
  int64_t sum_floats;    /* of one slice of one part of one group */
  int64_t slots, slot_floats;
} cvy_cpu_implicit_gemm_weights_plan;

cvy_cpu_implicit_gemm_weights_plan cvy_cpu_implicit_gemm_weights_plan_for(
    const cvy_problem *problem, const cvy_facts *facts);

/* How a block of x lies after turning: places per axis, of which outputs are `stride` and taps
 * `dilation` apart, place e holding input e * step - pad. An axis without taps holds only what its
 * outputs read. */
typedef struct cvy_turned {
  int64_t extent[3], step[3], stride[3];
} cvy_turned;
cvy_turned cvy_turned_of(const cvy_problem *block);

#endif
