/* How cpu.winograd cuts its work. Tiles of all images are numbered row by row; a block of them is
 * transformed, multiplied and transformed back while it is in the L2 cache. */
#ifndef CVY_CPU_WINOGRAD_WINOGRAD_H
#define CVY_CPU_WINOGRAD_WINOGRAD_H

#include "cpu/row.h"

/* What both plans know. */
typedef struct cvy_cpu_winograd_tiling {
  cvy_problem p; /* always forward: backward_data becomes its mirror image */
  const cvy_microkernel *kernel;
  cvy_winograd_fn *const *transform;
  int64_t m, n, points;      /* outputs and inputs per axis of a tile, n x n */
  int64_t channels, outputs; /* per group */
  int64_t down, across;      /* tiles per image */
  int64_t tiles;             /* of all images */
  int64_t kernel_tiles;      /* of outputs, per group */
} cvy_cpu_winograd_tiling;

/* A row of tiles, or part of it, of one image. */
typedef struct cvy_cpu_winograd_piece {
  int64_t image, row, first, count;
  int64_t at; /* its first tile's number in the block */
} cvy_cpu_winograd_piece;

cvy_cpu_winograd_tiling cvy_cpu_winograd_tiling_of(const cvy_problem *p, int64_t m);

/* The piece of a block of tiles [first, end) that begins with tile `tile`. */
cvy_cpu_winograd_piece cvy_cpu_winograd_piece_at(const cvy_cpu_winograd_tiling *shape,
                                                 int64_t first, int64_t end, int64_t tile);

/* One row of the input under a piece, `n` - `m` more than count * m places from the first tile's
 * left on, zeros where there is padding. False if all of it is padding; then nothing is written. */
bool cvy_cpu_winograd_input_row(const cvy_cpu_winograd_tiling *shape,
                                const cvy_cpu_winograd_piece *piece, int64_t i,
                                const float *channel, float *to);

/* -------------------------------------------------------- maps.c: forward, backward_data */

typedef struct cvy_cpu_winograd_maps_plan {
  cvy_cpu_winograd_tiling shape;
  bool mirrored;                /* filters are read with channels swapped and taps reversed */
  bool transient;               /* filters are transformed where they are used */
  int64_t block, blocks, pitch; /* tiles at a time, how many times, floats for so many */
  int64_t together;             /* kernel tiles whose products are turned back together */
  int64_t filter_tile;          /* floats of a kernel tile at one point */
  int64_t filter_pitch, source_pitch, product_pitch; /* floats from point to point */
  int64_t array_pitch;                               /* floats from place to place of a tile */
  int64_t chunk;                                     /* channels at a time of transient filters */
  int64_t shared_floats; /* of all threads: filters; with transient ones input and products */
  int64_t line_floats;
  int64_t slots, slot_floats;
} cvy_cpu_winograd_maps_plan;

cvy_cpu_winograd_maps_plan cvy_cpu_winograd_maps_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts,
                                                          const cvy_params *params);
int64_t cvy_cpu_winograd_maps_bytes(const cvy_cpu_winograd_maps_plan *plan);
void cvy_cpu_winograd_maps(const cvy_cpu_call *call);

/* A block of tiles of one group, on its way. */
typedef struct cvy_cpu_winograd_block {
  const cvy_cpu_call *call;
  const cvy_cpu_winograd_maps_plan *plan;
  int64_t group, first, end; /* tiles */
  float *source;             /* [point][channel][tile] */
  float *arrays, *line;      /* those of one channel, by place in a tile, and a row */
} cvy_cpu_winograd_block;

/* A block with its arrays and its line in `memory`. */
cvy_cpu_winograd_block cvy_cpu_winograd_block_at(const cvy_cpu_call *call,
                                                 const cvy_cpu_winograd_maps_plan *plan,
                                                 int64_t number, float *source, float *memory);
/* Transforms channel `c` of its input. */
void cvy_cpu_winograd_load(const cvy_cpu_winograd_block *block, int64_t c);
/* Products of the block's tiles with kernel tiles that follow each other, at all points. */
typedef struct cvy_cpu_winograd_product {
  const float *source, *filters; /* first channel, first kernel tile */
  float *to;
  int64_t channels, kernel_tiles;
  bool add; /* to what is there */
} cvy_cpu_winograd_product;

void cvy_cpu_winograd_multiply(const cvy_cpu_winograd_block *block,
                               const cvy_cpu_winograd_product *product);
/* Turns products of kernel tiles [first, last) back and puts them where they belong. */
void cvy_cpu_winograd_put(const cvy_cpu_winograd_block *block, const float *product, int64_t first,
                          int64_t last);

/* transient.c: with filters that are transformed where they are used. */
void cvy_cpu_winograd_transient(const cvy_cpu_call *call, const cvy_cpu_winograd_maps_plan *plan);

/* filters.c: kernel tile `tile`, of all groups, transformed for channels [first, first + count):
 * [point][channel][row]. `taps` has room for CVY_CPU_WINOGRAD_CHANNELS 9 floats of each row. */
#define CVY_CPU_WINOGRAD_CHANNELS 16
void cvy_cpu_winograd_transform_filter(const cvy_cpu_winograd_maps_plan *plan,
                                       const cvy_cpu_call *call, int64_t tile, int64_t first,
                                       int64_t count, float *taps, float *to);
/* All filters, [point][group][kernel tile][channel][row]. Behind them in `to` is the memory of the
 * slots. */
void cvy_cpu_winograd_transform_filters(const cvy_cpu_winograd_maps_plan *plan,
                                        const cvy_cpu_call *call, float *to);

/* ------------------------------------------------------------ weights.c: backward_weights */

typedef struct cvy_cpu_winograd_weights_plan {
  cvy_cpu_winograd_tiling shape;
  int64_t pitch;                             /* channels in whole vectors */
  int64_t slices;                            /* of the tiles, each with a sum of its own */
  int64_t parts, part;                       /* of the kernel tiles: how many, how many each */
  int64_t block;                             /* tiles at a time */
  int64_t dy_tile;                           /* floats of a kernel tile of dy at one point */
  int64_t array_pitch;                       /* floats from place to place of a tile of dy */
  int64_t source_pitch, dy_pitch, sum_pitch; /* floats from point to point */
  int64_t turned_floats;                     /* of the rows of input under some tiles */
  int64_t sum_floats;                        /* of one slice of one group */
  int64_t slots, slot_floats;
} cvy_cpu_winograd_weights_plan;

/* Tiles whose input is turned together. */
#define CVY_CPU_WINOGRAD_TRANSPOSED 8

cvy_cpu_winograd_weights_plan cvy_cpu_winograd_weights_plan_for(const cvy_problem *problem,
                                                                const cvy_facts *facts,
                                                                const cvy_params *params);
int64_t cvy_cpu_winograd_weights_bytes(const cvy_cpu_winograd_weights_plan *plan);
void cvy_cpu_winograd_weights(const cvy_cpu_call *call);

#endif
