/* How cpu.implicit_gemm cuts forward and backward_data into work for the microkernel. Both are
 * maps, matrix products of filters and columns: each result is a sum over channels and taps of a
 * source. The columns, all results of some images one after another, are packed block by block into
 * panels that stay in cache, from padded planes (cpu/shared/planes.h) or, for 1x1, from the source
 * as it lies.
 *
 * Backward_data with a stride falls into phases: inputs whose index + padding leaves the same
 * remainder see the same taps, the others are never touched. All phases read the same planes of dy,
 * at `place` = (index + padding) / stride of the first input, plus 0, 1, 2 ... */
#ifndef CVY_CPU_IMPLICIT_GEMM_MAPS_H
#define CVY_CPU_IMPLICIT_GEMM_MAPS_H

#include "cpu/row.h"
#include "cpu/shared/planes.h"

typedef struct cvy_cpu_implicit_gemm_plan {
  cvy_problem whole; /* merged */
  cvy_problem p;     /* forward: source in, places of a phase out */
  bool data;         /* filters are read with channels swapped, results go to phases of x */
  bool shifted;      /* columns are read from the planes, gaps included, not packed */
  bool by_rows;      /* if so: strips end with rows of results */
  bool resident;     /* the planes of all channels of a block stay in cache */
  bool once;         /* each filter meets one block only: it is packed where it is used */
  bool flat;         /* the source is read as it lies: 1x1, no stride, no padding */
  const cvy_microkernel *kernel;
  int64_t channels, outputs, taps; /* per group; taps of all phases together */
  int64_t phases;
  int64_t tiles;            /* of outputs, per group */
  int axis;                 /* the one whose places are cut into blocks */
  int64_t block, blocks;    /* places of that axis at a time; how many times */
  int64_t images, bands;    /* images at a time, where they are small; how many times */
  int64_t columns;          /* of a block of these images, at most */
  int64_t strips;           /* of the microkernel's width, for that many columns */
  int64_t depth;            /* channels times taps in a panel, at most */
  int64_t together;         /* tiles whose filters stay in cache together */
  int64_t parts;            /* of the tiles, where there are too few blocks for the threads */
  int64_t x_pitch, x_image; /* floats per channel in the planes, and per image in that */
  int64_t strip_floats;     /* of a panel */
  int64_t runs;             /* of neighbours a block's columns consist of, at most */
  int64_t filter_floats;    /* all packed filters; 0 if each is packed where it is used, */
  int64_t tile_floats;      /* then those of a tile for the channels of a panel */
  int64_t order_floats;     /* and the list of their taps */
  int64_t plane_floats, panel_floats, result_floats; /* in a slot */
  int64_t slots, slot_floats;
} cvy_cpu_implicit_gemm_plan;

/* False with a reason if the problem is not for it. */
bool cvy_cpu_implicit_gemm_takes(const cvy_problem *problem, cvy_text *reason);
/* 1x1 with few outputs for what is packed. */
bool cvy_cpu_implicit_gemm_packs_in_vain(const cvy_problem *problem);
cvy_cpu_implicit_gemm_plan cvy_cpu_implicit_gemm_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts);
int64_t cvy_cpu_implicit_gemm_bytes(const cvy_cpu_implicit_gemm_plan *plan);
/* Channels packed at a time for a phase of so many taps. */
int64_t cvy_cpu_implicit_gemm_at_once(const cvy_cpu_implicit_gemm_plan *plan, int64_t taps);

/* taps.c: remainder of phase `phase` along each axis. */
void cvy_cpu_implicit_gemm_phase(const cvy_cpu_implicit_gemm_plan *plan, int64_t phase,
                                 int64_t remainder[3]);
/* Lists the taps phase by phase: order[begin[i]] to order[begin[i + 1] - 1] are numbers of taps
 * within a filter that phase i uses. */
void cvy_cpu_implicit_gemm_order(const cvy_cpu_implicit_gemm_plan *plan, int64_t *begin,
                                 int64_t *order);
/* Where tap number `tap` begins to read in planes laid out so. */
int64_t cvy_cpu_implicit_gemm_tap(const cvy_cpu_implicit_gemm_plan *plan,
                                  const cvy_planes_layout *layout, int64_t tap);

/* filters.c: the filters as the microkernel reads them, [phase][group][tile][channel][tap][row],
 * rows beyond the last output 0. */
void cvy_cpu_implicit_gemm_pack_filters(const cvy_cpu_implicit_gemm_plan *plan,
                                        const cvy_cpu_call *call, const int64_t *begin,
                                        const int64_t *order, float *to);

/* Filters of tiles [tile, tile + tiles) of a group's outputs for channels [first, first + count),
 * packed `pitch` floats from tile to tile. */
typedef struct cvy_cpu_implicit_gemm_filters {
  int64_t phase, group, tile, tiles, first, count, pitch;
} cvy_cpu_implicit_gemm_filters;

/* A run of forward or backward_data. */
typedef struct cvy_cpu_implicit_gemm_run {
  const cvy_cpu_call *call;
  cvy_cpu_implicit_gemm_plan plan;
  const float *filters;
  const int64_t *begin, *order; /* of the taps of each phase */
} cvy_cpu_implicit_gemm_run;

/* filters.c: some of them, [tile][channel][tap][row]. */
void cvy_cpu_implicit_gemm_pack_some(const cvy_cpu_implicit_gemm_run *run,
                                     const cvy_cpu_implicit_gemm_filters *filters, float *to);

/* Columns [begin, end) of a block, as wide as the microkernel or less at the end. */
typedef struct cvy_cpu_implicit_gemm_strip {
  int64_t begin, end;
  float *direct; /* where its results of the group's first output belong, if they are neighbours */
} cvy_cpu_implicit_gemm_strip;

/* A block of one group of some images, on its way. */
typedef struct cvy_cpu_implicit_gemm_block {
  const cvy_cpu_implicit_gemm_run *run;
  cvy_problem p; /* of one image */
  cvy_planes_layout layout;
  int64_t group, image, images;
  int64_t first;             /* place along the plan's axis */
  int64_t skip;              /* where its source begins in a channel */
  int64_t columns;           /* of all images */
  int64_t from[3], count[3]; /* the places that are columns: those with results of the phase */
  int64_t width, height;     /* columns from row to row, and rows from plane to plane */
  int64_t origin[3];         /* offset of phase 0 */
  int64_t phase;             /* and of that: */
  int64_t offset[3];         /* the result of place a has index a step + offset */
  int64_t step[3], limit[3], volume;
  /* In slot memory: */
  float *x, *panel, *results, *filters;
  cvy_copy_run *runs;
  cvy_cpu_implicit_gemm_strip *strips;
  int64_t run_count, strip_count, *taps;
} cvy_cpu_implicit_gemm_block;

/* columns.c: where the taps of a block read; loads its planes if they are to stay. */
void cvy_cpu_implicit_gemm_source(cvy_cpu_implicit_gemm_block *block);
/* Lists the runs of the columns of its phase. */
void cvy_cpu_implicit_gemm_runs(cvy_cpu_implicit_gemm_block *block);
/* Packs the columns of channels [first, first + count) for the block's phase: strip by strip
 * [channel][tap][column]. */
void cvy_cpu_implicit_gemm_panel(const cvy_cpu_implicit_gemm_block *block, int64_t first,
                                 int64_t count);

/* results.c: the columns of a block for its phase, and the strips they make. */
void cvy_cpu_implicit_gemm_columns(cvy_cpu_implicit_gemm_block *block);
void cvy_cpu_implicit_gemm_strips(cvy_cpu_implicit_gemm_block *block);
/* Puts results of outputs [first, last) of a strip where they belong; each output has a row of the
 * microkernel's width. */
void cvy_cpu_implicit_gemm_put(const cvy_cpu_implicit_gemm_block *block, int64_t first,
                               int64_t last, const cvy_cpu_implicit_gemm_strip *strip, float *from);

/* maps.c: forward and backward_data. */
void cvy_cpu_implicit_gemm_maps(const cvy_cpu_call *call);

/* weights.c: backward_weights. */
bool cvy_cpu_implicit_gemm_weights_takes(const cvy_problem *problem, cvy_text *reason);
bool cvy_cpu_implicit_gemm_weights_are_large(const cvy_problem *problem);
int64_t cvy_cpu_implicit_gemm_weights_bytes(const cvy_problem *problem, const cvy_facts *facts);
void cvy_cpu_implicit_gemm_weights(const cvy_cpu_call *call);

#endif
