/* How cpu.inner_products cuts backward_weights: dw[k][c, tap] is the inner product of a row of dy
 * and a shifted row of x. Both are laid out by cpu/shared/planes.h, dy with zeros where x has more
 * places; images follow each other, so that small ones make long rows, too. Nothing is
 * transposed. */
#ifndef CVY_CPU_INNER_PRODUCTS_INNER_PRODUCTS_H
#define CVY_CPU_INNER_PRODUCTS_INNER_PRODUCTS_H

#include "cpu/row.h"
#include "cpu/shared/blocks.h"
#include "cpu/shared/planes.h"

/* How the rows that are multiplied come about. */
typedef enum cvy_cpu_inner_products_rows {
  CVY_ROWS_AS_THEY_LIE, /* x and dy are read where they are: 1x1 without stride */
  CVY_ROWS_DENSE,       /* they are loaded, and every place of a row gets an element */
  CVY_ROWS_WITH_GAPS    /* they are loaded, and some places have no element: these are 0 */
} cvy_cpu_inner_products_rows;

typedef struct cvy_cpu_inner_products_plan {
  cvy_problem p; /* merged */
  const cvy_inner_products_kernel *kernel;
  int64_t channels, outputs, taps; /* per group */
  cvy_cpu_inner_products_rows rows;
  cvy_output_blocks units;                   /* of work: what is loaded and multiplied at a time */
  int64_t slices;                            /* of the units, where they are shared out, */
  cvy_cut output_parts, channel_parts;       /* and parts of a group's outputs and channels */
  int64_t outputs_at_once, channels_at_once; /* of a part, in cache together */
  int64_t block;   /* floats of a row that are summed before their sum is added to another */
  bool prefetches; /* units are so small that memory can be asked for the next one meanwhile */

  /* How a row of a unit lies, in floats. */
  struct {
    int64_t phases;           /* planes of a channel, one per remainder of the stride */
    int64_t plane;            /* one of them, of one image */
    int64_t x_pitch, y_pitch; /* from channel to channel, and from output to output */
  } row;

  /* Sizes of memory, in floats. */
  struct {
    int64_t sum;  /* of a slice; 0 if dw itself is the sum */
    int64_t x, y; /* in a slot */
    int64_t slot;
  } floats;
  int64_t slots;
} cvy_cpu_inner_products_plan;

/* Floats that tiles may read behind a channel. They are 0: if the next channel's were infinite,
 * they would make NaN of the zeros behind dy. */
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
