/* How cpu.depthwise cuts a problem. All passes see a source (x, or dy in backward_data) whose rows
 * lie in strips of padded rows, and results (y, dx, or the dy that backward_weights multiplies
 * with), each of which is the sum over its taps of places of a strip. */
#ifndef CVY_CPU_DEPTHWISE_DEPTHWISE_H
#define CVY_CPU_DEPTHWISE_DEPTHWISE_H

#include "cpu/row.h"

/* How the source is read. */
typedef enum cvy_cpu_depthwise_mode {
  CVY_DEPTHWISE_STRIPS,      /* from strips, to which padded rows are copied */
  CVY_DEPTHWISE_AS_IT_LIES,  /* where it is: nothing is padded, and no row is short */
  CVY_DEPTHWISE_INTERLEAVED, /* from strips that hold several channels (isa/interleave.h) */
  CVY_DEPTHWISE_SCATTERED    /* without strips: most results have no tap, so each tap is added where
                                it goes */
} cvy_cpu_depthwise_mode;

/* One axis. Tap f of sum j reads place j step + (the offset of f), and the source's first element
 * has place `left`. Only backward_data has phases, one per remainder of the stride: sum j of phase
 * q is result j phases + q - pad. */
typedef struct cvy_cpu_depthwise_axis {
  int64_t source, result;
  int64_t left, step, phases, pad;
  int64_t sums;  /* of every phase */
  int64_t reach; /* places from the first to the last that any tap of a sum reads */
} cvy_cpu_depthwise_axis;

typedef struct cvy_cpu_depthwise_plan {
  cvy_problem p; /* merged */
  cvy_cpu_depthwise_mode mode;
  cvy_cpu_depthwise_axis axis[3];
  int64_t inputs;  /* source channels that are summed: the outputs of a group in backward_data */
  int64_t outputs; /* result channels of the same source channel */
  int64_t phases;  /* of all axes */
  int64_t width;   /* floats of a place: the channels that are interleaved, else 1 */

  /* A strip, in places. */
  struct {
    int64_t split; /* rows lie in so many parts: element u is in part u % step, place u / step */
    int64_t part;  /* size of one */
    int64_t row, plane, image; /* from row to row, plane to plane, source channel to channel */
    int64_t height;            /* sums of a strip, in its own axis */
    int64_t per_plane, count;  /* strips of one plane, and of all */
  } strip;

  /* Where results are made. */
  struct {
    bool aside;    /* beside `out`, and moved there row by row */
    bool stream;   /* all those of a source channel beside `out`, and streamed there */
    int64_t row;   /* places of a row made aside, or of a short row of dy */
    int64_t phase; /* of all rows aside of a phase in a strip */
  } results;

  /* Sizes of what a slot holds, in floats. */
  struct {
    int64_t x, y, w, z; /* strip, rows aside, weights or sums, results to be streamed */
    int64_t slot;
  } floats;
  int64_t index_bytes; /* of the lists before the slots */
  int64_t slots;
} cvy_cpu_depthwise_plan;

/* What the taps of one phase give in one strip. */
typedef struct cvy_cpu_depthwise_part {
  int64_t x;    /* place in the strip of the first tap of the first sum, less the tap's offset */
  int64_t taps; /* number of the first tap in the list */
  int64_t across, down;
  int64_t rows, length; /* rows is 0 where there is nothing */
  int64_t to, to_row;   /* first result in its channel, or interleaved aside; from row to row */
} cvy_cpu_depthwise_part;

typedef struct cvy_cpu_depthwise_run {
  const cvy_cpu_call *call;
  cvy_cpu_depthwise_plan plan;
  int64_t *shift, *order; /* of all taps, phase by phase: place in a strip, number in the filters */
  cvy_cpu_depthwise_part *parts; /* strip by strip, phase by phase */
  int32_t *x_place;              /* where each element of a plane goes in an interleaved strip, */
  int32_t *y_place;              /* and where each result lies among the interleaved ones */
  float *slots;
} cvy_cpu_depthwise_run;

/* The memory of a slot. What no row writes in the first two stays 0: margins, and what lies behind
 * short rows. */
typedef struct cvy_cpu_depthwise_slot {
  float *x, *y, *w, *z;
} cvy_cpu_depthwise_slot;

/* plan.c */
cvy_cpu_depthwise_plan cvy_cpu_depthwise_plan_for(const cvy_problem *problem,
                                                  const cvy_facts *facts);
int64_t cvy_cpu_depthwise_bytes(const cvy_cpu_depthwise_plan *plan);
/* Offset of tap f of phase q of an axis, or -1 if the tap belongs to another phase. */
int64_t cvy_cpu_depthwise_offset(const cvy_cpu_depthwise_plan *plan, int axis, int64_t phase,
                                 int64_t tap);
cvy_cpu_depthwise_slot cvy_cpu_depthwise_clear(const cvy_cpu_depthwise_run *d, int32_t slot);

/* taps.c: fills the lists before the slots. */
void cvy_cpu_depthwise_list(cvy_cpu_depthwise_run *d);
/* The sums of a part, whose strip begins at `x`. */
cvy_stencil cvy_cpu_depthwise_stencil(const cvy_cpu_depthwise_run *d,
                                      const cvy_cpu_depthwise_part *part, const float *x);

/* strips.c: the rows of strip number `strip` from the channels at `source`. Returns where its place
 * 0 is. `to` must hold 0 where no source element goes. */
const float *cvy_cpu_depthwise_strip(const cvy_cpu_depthwise_run *d, int64_t strip,
                                     const float *source, float *to);
/* Asks for `floats` from `from` on while stencils make `vectors` vectors of results. */
cvy_prefetch cvy_cpu_depthwise_prefetch(const float *from, int64_t floats, int64_t vectors,
                                        bool write);
/* Asks for what the strip after `strip` will read, while all results of `strip` are made. */
cvy_prefetch cvy_cpu_depthwise_prefetch_next(const cvy_cpu_depthwise_run *d, int64_t strip,
                                             const float *source);
/* Vectors of results of a strip of one output channel. */
int64_t cvy_cpu_depthwise_vectors(const cvy_cpu_depthwise_run *d);

/* Tasks, a file each. An item is a source channel of an image, or in backward_weights a channel.
 * Where channels are interleaved, it is a block of channels of an image, image by image within a
 * block, or in backward_weights a block of channels. */
cvy_task cvy_cpu_depthwise_sum_channels;
cvy_task cvy_cpu_depthwise_dot_channels;
cvy_task cvy_cpu_depthwise_scatter_channels;
cvy_task cvy_cpu_depthwise_sum_blocks;
cvy_task cvy_cpu_depthwise_dot_blocks;

#endif
