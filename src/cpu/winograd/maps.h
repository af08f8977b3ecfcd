/* Forward and backward_data of cpu.winograd, which make feature maps. A block of tiles is
 * transformed, multiplied and transformed back while it is in the L2 cache. */
#ifndef CVY_CPU_WINOGRAD_MAPS_H
#define CVY_CPU_WINOGRAD_MAPS_H

#include "cpu/shared/cut.h"
#include "cpu/winograd/tiles.h"

typedef struct cvy_cpu_winograd_maps_plan {
  cvy_cpu_winograd_tiling tiling;
  bool mirrored;    /* filters are read with channels swapped and taps reversed */
  bool transient;   /* filters are transformed where they are used */
  cvy_cut blocks;   /* of tiles; the floats of a row of tiles are those of a whole block */
  int64_t together; /* kernel tiles whose products are transformed back together */
  int64_t chunk;    /* channels at a time of transient filters */

  /* Distances in floats. */
  struct {
    int64_t filter, source, product; /* from point to point */
    int64_t filter_tile;             /* from kernel tile to kernel tile of the filters at a point */
    int64_t array;                   /* from place to place of a tile */
  } pitch;

  /* Sizes of memory, in floats. */
  struct {
    int64_t shared; /* by all threads: filters, or with transient ones input and products */
    int64_t slot;
  } floats;
  int64_t slots;
} cvy_cpu_winograd_maps_plan;

/* maps_plan.c */
cvy_cpu_winograd_maps_plan cvy_cpu_winograd_maps_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts,
                                                          const cvy_params *params);
int64_t cvy_cpu_winograd_maps_bytes(const cvy_cpu_winograd_maps_plan *plan);

/* maps.c */
void cvy_cpu_winograd_maps(const cvy_cpu_call *call);
/* transient.c: the same for a plan with transient filters. */
void cvy_cpu_winograd_transient(const cvy_cpu_call *call, const cvy_cpu_winograd_maps_plan *plan);

/* ------------------------------------------------------------------------------------ blocks */

/* A block of tiles of one group, on its way. */
typedef struct cvy_cpu_winograd_block {
  const cvy_cpu_call *call;
  const cvy_cpu_winograd_maps_plan *plan;
  int64_t group;
  cvy_range tiles;
  float *source;        /* [point][channel][tile] */
  float *arrays, *line; /* those of one channel, by place in a tile, and a row */
} cvy_cpu_winograd_block;

/* A block with its arrays and its line in `memory`. */
cvy_cpu_winograd_block cvy_cpu_winograd_block_at(const cvy_cpu_call *call,
                                                 const cvy_cpu_winograd_maps_plan *plan,
                                                 int64_t number, float *source, float *memory);
/* Transforms channel `c` of its input. */
void cvy_cpu_winograd_load(const cvy_cpu_winograd_block *block, int64_t c);

/* Products of a block's tiles with kernel tiles that follow each other, at all points. */
typedef struct cvy_cpu_winograd_product {
  const float *source, *filters; /* of the first channel, of the first kernel tile */
  float *to;
  int64_t channels, kernel_tiles;
  bool add; /* to what is there */
} cvy_cpu_winograd_product;

void cvy_cpu_winograd_multiply(const cvy_cpu_winograd_block *block,
                               const cvy_cpu_winograd_product *product);
/* Transforms products of some kernel tiles back and puts them where they belong. */
void cvy_cpu_winograd_put(const cvy_cpu_winograd_block *block, const float *product,
                          cvy_range kernel_tiles);

/* ----------------------------------------------------------------------------------- filters */

#define CVY_CPU_WINOGRAD_CHANNELS 16 /* that are transformed together */

/* filters.c: transforms kernel tile `tile`, of all groups, for some channels:
 * [point][channel][row]. `taps` has room for CVY_CPU_WINOGRAD_CHANNELS 9 floats of each row. */
void cvy_cpu_winograd_transform_filter(const cvy_cpu_winograd_maps_plan *plan,
                                       const cvy_cpu_call *call, int64_t tile, cvy_range channels,
                                       float *taps, float *to);
/* Transforms all filters, [point][group][kernel tile][channel][row]. Behind them in `to` is the
 * memory of the slots. */
void cvy_cpu_winograd_transform_filters(const cvy_cpu_winograd_maps_plan *plan,
                                        const cvy_cpu_call *call, float *to);

#endif
