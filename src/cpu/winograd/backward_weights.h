/* backward_weights of cpu.winograd. At each point dw is a matrix product, dy x^T, summed over
 * tiles; the sums of all blocks are transformed back once. */
#ifndef CVY_CPU_WINOGRAD_BACKWARD_WEIGHTS_H
#define CVY_CPU_WINOGRAD_BACKWARD_WEIGHTS_H

#include "cpu/shared/cut.h"
#include "cpu/winograd/tiles.h"

typedef struct cvy_cpu_winograd_weights_plan {
  cvy_cpu_winograd_tiling tiling;
  int64_t slices; /* of the tiles, each with a sum of its own */
  cvy_cut parts;  /* of the kernel tiles, where pieces share them out */
  int64_t block;  /* tiles at a time */
  int64_t row;    /* floats of a row of channels, in whole vectors */

  /* Distances in floats. */
  struct {
    int64_t source, dy, sum; /* from point to point */
    int64_t dy_tile;         /* from kernel tile to kernel tile of dy at one point */
    int64_t array;           /* from place to place of a tile of dy */
  } pitch;

  /* Sizes of memory, in floats. */
  struct {
    int64_t transposed; /* of the rows of input under some tiles */
    int64_t sum;        /* of one slice of one group */
    int64_t slot;
  } floats;
  int64_t slots;
} cvy_cpu_winograd_weights_plan;

/* Tiles whose input is transposed together. */
#define CVY_CPU_WINOGRAD_TRANSPOSED 8

/* backward_weights_plan.c */
cvy_cpu_winograd_weights_plan cvy_cpu_winograd_weights_plan_for(const cvy_problem *problem,
                                                                const cvy_facts *facts,
                                                                const cvy_params *params);
int64_t cvy_cpu_winograd_weights_bytes(const cvy_cpu_winograd_weights_plan *plan);

/* backward_weights.c */
void cvy_cpu_winograd_weights(const cvy_cpu_call *call);

#endif
