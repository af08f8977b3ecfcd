/* How cpu.depthwise cuts a problem. All passes see a source (x, for backward_data dy) whose rows
 * lie in strips of padded rows, and results (y, dx, or the dy that backward_weights multiplies
 * with), each the sum over its taps of places of a strip. */
#ifndef CVY_CPU_DEPTHWISE_DEPTHWISE_H
#define CVY_CPU_DEPTHWISE_DEPTHWISE_H

#include "cpu/row.h"

/* Outputs per group, at most; with more, a matrix product is faster, except where they are summed
 * into one channel. */
#define CVY_CPU_DEPTHWISE_OUTPUTS 2
#define CVY_CPU_DEPTHWISE_SUMMED 64

/* One axis. Tap f of sum j reads place j step + (its offset); the source's first element has place
 * `left`. Only backward_data has phases, one per remainder of the stride: sum j of phase q is
 * result j phases + q - pad. */
typedef struct cvy_cpu_depthwise_axis {
  int64_t source, result;
  int64_t left, step, phases, pad;
  int64_t sums;  /* of every phase */
  int64_t reach; /* places from the first to the last that any tap of a sum reads */
} cvy_cpu_depthwise_axis;

typedef struct cvy_cpu_depthwise_plan {
  cvy_problem p; /* merged */
  cvy_cpu_depthwise_axis axis[3];
  int64_t inputs;  /* source channels that are summed: the outputs of a group in backward_data */
  int64_t outputs; /* result channels of the same source channel */
  int64_t phases;  /* of all axes */
  int64_t width;   /* channels that are interleaved (interleave.h): all places below are so many
                      floats; or 1 */
  bool sparse;     /* most results have no tap: each tap is added where it goes */
  bool flat;       /* nothing is padded, no row is short: taps read the source as it lies */
  bool aside;      /* results are made beside `out` and moved there */
  bool stream;     /* all results of a source channel are made beside `out`, and streamed there */
  int64_t split; /* rows lie in so many parts: element u is in part u % stride, place u / stride */
  int64_t part;  /* floats of one */
  int64_t row, slice, image; /* floats from row to row, slice to slice, source channel to channel */
  int64_t height;            /* sums of a strip, in its own axis */
  int64_t heights, strips;   /* strips of one slice; of all */
  int64_t side_row;          /* floats of a row made beside `out`, or of a short row of dy */
  int64_t side;              /* of all rows of a phase, where they are interleaved */
  int64_t x_floats, y_floats, w_floats; /* of a slot: strip, rows aside, weights or sums */
  int64_t z_floats;                     /* results to be streamed */
  int64_t index_bytes, slots, slot_floats;
} cvy_cpu_depthwise_plan;

/* What the taps of one phase give in one strip; rows is 0 where there is nothing. */
typedef struct cvy_cpu_depthwise_part {
  int64_t x;    /* place of the first tap of the first sum: offset in the strip */
  int64_t list; /* first tap */
  int64_t across, down, rows, length;
  int64_t to, to_row; /* first result in its channel, or interleaved ones aside; from row to row */
} cvy_cpu_depthwise_part;

typedef struct cvy_cpu_depthwise_run {
  const cvy_cpu_call *call;
  cvy_cpu_depthwise_plan plan;
  int64_t *shift, *order; /* of all taps, phase by phase: place in a strip, number in the filters */
  cvy_cpu_depthwise_part *parts; /* strip by strip, phase by phase */
  int32_t *x_place,
      *y_place; /* of each element of a plane: in the strip, among the interleaved results */
  float *slots;
} cvy_cpu_depthwise_run;

void cvy_cpu_depthwise_cut(const cvy_problem *problem, const cvy_facts *facts,
                           cvy_cpu_depthwise_plan *out);
int64_t cvy_cpu_depthwise_bytes(const cvy_cpu_depthwise_plan *plan);

/* Offset of tap f of phase q of an axis, -1 if it belongs to another phase. */
int64_t cvy_cpu_depthwise_offset(const cvy_cpu_depthwise_plan *plan, int axis, int64_t phase,
                                 int64_t tap);
/* Fills what stands before the slots. */
void cvy_cpu_depthwise_list(cvy_cpu_depthwise_run *d);
/* The sums of a part, whose strip begins at `x`. */
cvy_stencil cvy_cpu_depthwise_stencil(const cvy_cpu_depthwise_run *d,
                                      const cvy_cpu_depthwise_part *part, const float *x);

/* Memory of a slot: strip, rows aside, sorted weights or sums of gradients, results to be streamed.
 * What no row writes in the first two stays 0: margins, and what lies behind short rows. */
typedef struct cvy_cpu_depthwise_slot {
  float *x, *y, *w, *z;
} cvy_cpu_depthwise_slot;

cvy_cpu_depthwise_slot cvy_cpu_depthwise_clear(const cvy_cpu_depthwise_run *d, int32_t slot);

/* Tasks where channels are interleaved: each item a block of channels of an image, image by image
 * within a block; for backward_weights a block of channels. */
void cvy_cpu_depthwise_interleaved_sums(void *depthwise, int64_t begin, int64_t end, int32_t slot);
void cvy_cpu_depthwise_interleaved_dots(void *depthwise, int64_t begin, int64_t end, int32_t slot);

/* The rows of strip number `strip` from the channels at `source`: where its place 0 is. `to` has 0
 * where no source element goes. */
const float *cvy_cpu_depthwise_strip(const cvy_cpu_depthwise_run *d, int64_t strip,
                                     const float *source, float *to);
/* `floats` from `from` on, asked for while stencils make `vectors` vectors of results. */
cvy_prefetch cvy_cpu_depthwise_prefetch(const float *from, int64_t floats, int64_t vectors,
                                        bool write);
/* What strip number `strip` + 1 will read, while all results of this strip are made. */
cvy_prefetch cvy_cpu_depthwise_prefetch_next(const cvy_cpu_depthwise_run *d, int64_t strip,
                                             const float *source);
/* Vectors of results of a strip of one output channel. */
int64_t cvy_cpu_depthwise_vectors(const cvy_cpu_depthwise_run *d);
/* Rows of all phases of the last axis, made aside, to their channel. */
void cvy_cpu_depthwise_move(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                            const float *from, float *out);

#endif
