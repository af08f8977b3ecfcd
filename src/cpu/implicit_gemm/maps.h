/* Forward and backward_data of cpu.implicit_gemm. What they make are feature maps, hence their
 * common name here: matrix products of filters and columns, in which each result is a sum over
 * channels and taps of a source, x or dy. A block of results at a time, the columns, one for each
 * result of some images, are packed into panels that stay in cache, from padded planes
 * (cpu/shared/planes.h) or from the source as it lies.
 *
 * Backward_data with a stride falls into phases: inputs whose index + padding leaves the same
 * remainder see the same taps and never those of others. All phases read the same planes of dy, at
 * `place` = (index + padding) / stride of the first input, plus 0, 1, 2 ... */
#ifndef CVY_CPU_IMPLICIT_GEMM_MAPS_H
#define CVY_CPU_IMPLICIT_GEMM_MAPS_H

#include "cpu/row.h"
#include "cpu/shared/blocks.h"
#include "cpu/shared/planes.h"

/* Where the microkernel finds the columns. Not packing them means computing the gaps between the
 * rows of planes, too, or idle places at the ends of rows. */
typedef enum cvy_cpu_implicit_gemm_columns {
  CVY_COLUMNS_FROM_SOURCE,      /* packed from the source as it lies, which is pointwise */
  CVY_COLUMNS_FROM_SOME_PLANES, /* packed from the planes of a few channels at a time */
  CVY_COLUMNS_FROM_ALL_PLANES,  /* packed from the planes of all channels, which stay in cache */
  CVY_COLUMNS_IN_PLANES,        /* read from the planes of all channels, gaps included */
  CVY_COLUMNS_IN_ROWS           /* the same, but so that strips end with rows of results */
} cvy_cpu_implicit_gemm_columns;

typedef struct cvy_cpu_implicit_gemm_maps_plan {
  cvy_problem whole;         /* merged */
  cvy_problem p;             /* from the source to the results of one phase, as a forward */
  bool data;                 /* filters are read with channels swapped, results go to phases of x */
  int64_t channels, outputs; /* per group */
  int64_t taps, phases;      /* the taps are those of all phases together */
  const cvy_microkernel *kernel;
  cvy_cpu_implicit_gemm_columns columns;
  cvy_output_blocks blocks;
  int64_t depth;  /* channels times taps in a panel, at most */
  int64_t strips; /* of the microkernel's width, into which a block's columns are cut, at most */
  int64_t runs;   /* of neighbours that a block's columns consist of, at most */

  /* Tiles are the outputs that the microkernel computes at a time. */
  struct {
    int64_t count;  /* per group */
    int64_t shares; /* into which they are parted where there are too few blocks for the threads */
    int64_t together; /* how many tiles' filters stay in cache together */
    bool pack_at_use; /* each filter meets one block only, so it is packed there */
  } tiles;

  /* Distances in what columns come from, in floats. */
  struct {
    int64_t channel;
    int64_t image; /* in the planes within a channel, in the source the other way round */
  } pitch;

  /* Sizes of memory, in floats. */
  struct {
    int64_t filters; /* all packed filters, or none where they are packed at use, */
    int64_t tile;    /* and then those of a tile for the channels of a panel */
    int64_t order;   /* the list of the taps */
    int64_t planes, panel, strip, results; /* in a slot; a panel is its strips */
    int64_t slot;
  } floats;
  int64_t slots;
} cvy_cpu_implicit_gemm_maps_plan;

static inline bool cvy_cpu_implicit_gemm_packs(const cvy_cpu_implicit_gemm_maps_plan *plan) {
  return plan->columns != CVY_COLUMNS_IN_PLANES && plan->columns != CVY_COLUMNS_IN_ROWS;
}

/* Whether the planes of all channels are loaded before any column is used. */
static inline bool cvy_cpu_implicit_gemm_loads_all(const cvy_cpu_implicit_gemm_maps_plan *plan) {
  return plan->columns != CVY_COLUMNS_FROM_SOURCE && plan->columns != CVY_COLUMNS_FROM_SOME_PLANES;
}

/* maps_plan.c: false with a reason if the problem is not for it. */
bool cvy_cpu_implicit_gemm_takes_map(const cvy_problem *problem, cvy_text *reason);
/* Whether it would pack columns for very few outputs, which im2col reads without packing. Wider
 * vectors than those of AVX2 pack so fast that it does not matter. */
bool cvy_cpu_implicit_gemm_packs_in_vain(const cvy_problem *problem);
cvy_cpu_implicit_gemm_maps_plan cvy_cpu_implicit_gemm_maps_plan_for(const cvy_problem *problem,
                                                                    const cvy_facts *facts);
int64_t cvy_cpu_implicit_gemm_maps_bytes(const cvy_cpu_implicit_gemm_maps_plan *plan);
/* How many channels are packed at a time for a phase of so many taps. */
int64_t cvy_cpu_implicit_gemm_at_once(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t taps);

/* ----------------------------------------------------------------------------------- running */

typedef struct cvy_cpu_implicit_gemm_run {
  const cvy_cpu_call *call;
  cvy_cpu_implicit_gemm_maps_plan plan;
  const float *filters;
  const int64_t *begin,
      *order; /* the taps of phase i are order[begin[i]] to order[begin[i + 1] - 1] */
} cvy_cpu_implicit_gemm_run;

/* maps.c */
void cvy_cpu_implicit_gemm_maps(const cvy_cpu_call *call);

/* taps.c: the remainders that phase `phase` leaves along each axis. */
void cvy_cpu_implicit_gemm_phase(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t phase,
                                 int64_t remainder[3]);
/* Lists the taps phase by phase, as numbers within a filter, as a run has them. */
void cvy_cpu_implicit_gemm_order(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t *begin,
                                 int64_t *order);
/* Where tap number `tap` begins to read in planes laid out so. */
int64_t cvy_cpu_implicit_gemm_tap(const cvy_cpu_implicit_gemm_maps_plan *plan,
                                  const cvy_planes_layout *layout, int64_t tap);

/* filters.c: packs all filters as the microkernel reads them,
 * [phase][group][tile][channel][tap][row]. Rows beyond the last output are 0. */
void cvy_cpu_implicit_gemm_pack_filters(const cvy_cpu_implicit_gemm_run *run, float *to);

/* Some filters of a group: those of some tiles for some channels. */
typedef struct cvy_cpu_implicit_gemm_filters {
  int64_t phase, group;
  cvy_range tiles, channels;
  int64_t pitch; /* floats from tile to tile, packed */
} cvy_cpu_implicit_gemm_filters;

/* Packs just these, [tile][channel][tap][row]. */
void cvy_cpu_implicit_gemm_pack_some(const cvy_cpu_implicit_gemm_run *run,
                                     const cvy_cpu_implicit_gemm_filters *filters, float *to);

/* ------------------------------------------------------------------------------------ blocks */

/* Neighbouring columns of a block, as many as the microkernel is wide or fewer at the end. */
typedef struct cvy_cpu_implicit_gemm_strip {
  cvy_range columns;
  float *direct; /* where its results of the group's first output belong, if they are neighbours */
} cvy_cpu_implicit_gemm_strip;

/* A block of one group, on its way through its phases. */
typedef struct cvy_cpu_implicit_gemm_block {
  const cvy_cpu_implicit_gemm_run *run;
  cvy_output_block of; /* of the plan's p */
  cvy_planes_layout layout;
  int64_t group, phase;

  /* The places that are columns, all or those with results of the phase. */
  struct {
    int64_t count; /* of all images */
    int64_t from[3], extent[3];
    int64_t width, height; /* columns from row to row, and rows from plane to plane */
  } columns;

  /* Place a along an axis stands for the result with index a step + offset, if that is within
   * limit. */
  struct {
    int64_t origin[3]; /* the offset of phase 0 */
    int64_t offset[3], step[3], limit[3];
    int64_t volume;
  } results;

  /* In the memory of a slot: */
  float *x, *panel, *sums, *filters;
  cvy_copy_run *runs;
  cvy_cpu_implicit_gemm_strip *strips;
  int64_t run_count, strip_count, *taps;
} cvy_cpu_implicit_gemm_block;

/* columns.c: finds out where the taps of a block read, and loads its planes if they are to stay. */
void cvy_cpu_implicit_gemm_source(cvy_cpu_implicit_gemm_block *block);
/* Lists the runs of the columns of its phase. */
void cvy_cpu_implicit_gemm_runs(cvy_cpu_implicit_gemm_block *block);
/* Packs the columns of some channels for the block's phase: strip by strip
 * [channel][tap][column]. */
void cvy_cpu_implicit_gemm_panel(const cvy_cpu_implicit_gemm_block *block, cvy_range channels);

/* results.c: finds the columns of a block for its phase, and the strips they make. */
void cvy_cpu_implicit_gemm_set_columns(cvy_cpu_implicit_gemm_block *block);
void cvy_cpu_implicit_gemm_set_strips(cvy_cpu_implicit_gemm_block *block);
/* Puts a strip's results of some of the group's outputs where they belong. In `from` each output
 * has a row of the microkernel's width. */
void cvy_cpu_implicit_gemm_put(const cvy_cpu_implicit_gemm_block *block, cvy_range outputs,
                               const cvy_cpu_implicit_gemm_strip *strip, float *from);

#endif
