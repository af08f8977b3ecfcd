/* How cpu.inner_products cuts backward_weights: dw[k][c, tap] is the inner product of a row of dy
 * and a shifted row of x. Both are laid out by cpu/shared/planes.h, dy with zeros where x has more
 * places; images follow each other, so that small ones make long rows, too. Nothing is
 * transposed. */
#ifndef CVY_CPU_INNER_PRODUCTS_INNER_PRODUCTS_H
#define CVY_CPU_INNER_PRODUCTS_INNER_PRODUCTS_H

#include "cpu/row.h"
#include "cpu/shared/planes.h"

typedef struct cvy_cpu_inner_products_plan {
  cvy_problem p; /* merged */
  const cvy_inner_products_kernel *tile;
  int64_t channels, outputs, taps; /* per group */
  bool gaps;                       /* places that no element of x or dy goes to */
  bool flat;                       /* both are read as they lie: 1x1 without stride */
  int axis;                        /* the one whose outputs are cut into blocks */
  int64_t block, blocks;
  int64_t images, bands, units; /* images of a unit of work, how many times, and units in all */
  int64_t phases;               /* planes of a channel */
  int64_t plane;                /* floats of one, of an image */
  int64_t x_pitch, y_pitch;     /* floats of a channel and of an output of a unit */
  int64_t x_some, y_some;       /* how many of them are in cache at a time */
  int64_t output_part, output_parts, channel_part, channel_parts; /* of a group, shared out */
  bool prefetches;            /* units are small enough to be asked for one ahead */
  int64_t slices;             /* of the units */
  int64_t sum_floats;         /* of a slice; 0 if dw itself is the sum */
  int64_t x_floats, y_floats; /* in a slot */
  int64_t slots, slot_floats;
} cvy_cpu_inner_products_plan;

/* Floats that tiles may read behind a channel. They are 0: the next channel's would, if infinite,
 * make NaN of the zeros behind dy. */
#define CVY_CPU_INNER_PRODUCTS_BEHIND 16

cvy_cpu_inner_products_plan cvy_cpu_inner_products_plan_for(const cvy_problem *problem,
                                                            const cvy_facts *facts);
int64_t cvy_cpu_inner_products_bytes(const cvy_cpu_inner_products_plan *plan);

/* How a block of some images lies: phase by phase, image by image. `block` stays in use. */
cvy_planes_layout cvy_cpu_inner_products_layout(const cvy_cpu_inner_products_plan *plan,
                                                const cvy_problem *block);

/* run.c */
void cvy_cpu_inner_products_run(const cvy_cpu_call *call);

#endif
