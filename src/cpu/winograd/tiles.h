/* How cpu.winograd cuts a convolution into tiles (isa/winograd.h). Those of all images are numbered
 * row by row. */
#ifndef CVY_CPU_WINOGRAD_TILES_H
#define CVY_CPU_WINOGRAD_TILES_H

#include "cpu/row.h"
#include "cpu/shared/range.h"

typedef struct cvy_cpu_winograd_tiling {
  cvy_problem p; /* always forward: backward_data becomes its mirror image */
  const cvy_microkernel *kernel;
  cvy_winograd_fn *const *transform;
  int64_t m, n, points;      /* outputs and inputs per axis of a tile, n x n */
  int64_t channels, outputs; /* per group */
  int64_t down, across;      /* tiles per image */
  int64_t tiles;             /* of all images */
  int64_t kernel_tiles;      /* of the microkernel's rows of outputs, per group */
} cvy_cpu_winograd_tiling;

/* Tiles of m x m outputs. */
cvy_cpu_winograd_tiling cvy_cpu_winograd_tiling_of(const cvy_problem *p, int64_t m);

/* A row of tiles, or part of it, of one image. */
typedef struct cvy_cpu_winograd_piece {
  int64_t image, row, first, count;
  int64_t at; /* number of its first tile in the block */
} cvy_cpu_winograd_piece;

/* The piece of a block of tiles that begins with tile `tile`. */
cvy_cpu_winograd_piece cvy_cpu_winograd_piece_at(const cvy_cpu_winograd_tiling *tiling,
                                                 cvy_range block, int64_t tile);

/* Copies row i of the input under a piece, from the first tile's left on: n - m places more than
 * count m, with zeros where there is padding. False if all of it is padding; then nothing is
 * written. */
bool cvy_cpu_winograd_input_row(const cvy_cpu_winograd_tiling *tiling,
                                const cvy_cpu_winograd_piece *piece, int64_t i,
                                const float *channel, float *to);

#endif
