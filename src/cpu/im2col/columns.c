/* Filling and adding back column blocks, a run of outputs of one row at a time. Where input and
 * output have the same extents and no strides, a whole line of the matrix is one shifted copy of
 * the channel, of which just the elements in the padding must be blanked. */
#include "cpu/im2col/columns.h"

#include <string.h>

#include "cpu/shared/range.h"

/* One line of the column matrix. */
typedef struct tap {
  int64_t z, h, w; /* offset of the input from output * stride */
} tap;

/* Part of one output row. */
typedef struct stretch {
  int64_t oz, oh, ow, length;
  int64_t at; /* in the block */
} stretch;

typedef void visit(const cvy_column_block *block, const tap *at, const stretch *part,
                   float *columns, float *plane);

static stretch first_stretch(const cvy_column_block *block) {
  const int64_t *out = block->problem->out;
  int64_t row = block->begin / out[2], ow = block->begin % out[2];
  return (stretch){row / out[1], row % out[1], ow, cvy_min(out[2] - ow, block->count), 0};
}

static bool next_stretch(const cvy_column_block *block, stretch *part) {
  const int64_t *out = block->problem->out;
  part->at += part->length;
  if (part->at >= block->count) return false;
  part->ow = 0;
  part->length = cvy_min(out[2], block->count - part->at);
  if (++part->oh < out[1]) return true;
  part->oh = 0;
  part->oz++;
  return true;
}

/* The input row a stretch sees, -1 if it lies in the padding. */
static int64_t input_row(const cvy_problem *p, const tap *at, const stretch *part) {
  int64_t z = part->oz * p->stride[0] + at->z, h = part->oh * p->stride[1] + at->h;
  bool inside = z >= 0 && z < p->in[0] && h >= 0 && h < p->in[1];
  return inside ? z * p->in[1] + h : -1;
}

/* The part of a stretch that lies inside its input row, counted from the stretch's begin. */
static cvy_range inside(const cvy_problem *p, const tap *at, const stretch *part) {
  return cvy_outputs_inside(p->in[2], part->length, p->stride[2], part->ow * p->stride[2] + at->w);
}

/* -------------------------------------------------------------------------- any geometry */

static void blank(float *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = 0;
}

static void fill_stretch(const cvy_column_block *block, const tap *at, const stretch *part,
                         float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  float *to = columns + part->at;
  int64_t row = input_row(p, at, part);
  cvy_range span = row < 0 ? (cvy_range){0, 0} : inside(p, at, part);
  blank(to, span.begin);
  if (span.begin < span.end) {
    block->simd->gather(to + span.begin,
                        plane + row * p->in[2] + (part->ow + span.begin) * p->stride[2] + at->w,
                        p->stride[2], cvy_range_length(span));
  }
  blank(to + span.end, part->length - span.end);
}

static void add_stretch(const cvy_column_block *block, const tap *at, const stretch *part,
                        float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  int64_t row = input_row(p, at, part);
  cvy_range span = row < 0 ? (cvy_range){0, 0} : inside(p, at, part);
  if (span.begin < span.end) {
    block->simd->axpy(plane + row * p->in[2] + (part->ow + span.begin) * p->stride[2] + at->w,
                      p->stride[2], columns + part->at + span.begin, 1, 1.0f,
                      cvy_range_length(span));
  }
}

/* ----------------------------------------------------------------------- shifted geometry */

static bool is_shifted(const cvy_problem *p) {
  for (int i = 0; i < 3; i++)
    if (p->stride[i] != 1 || p->in[i] != p->out[i]) return false;
  return true;
}

static void blank_padding(const cvy_column_block *block, const tap *at, const stretch *part,
                          float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  (void)plane;
  float *to = columns + part->at;
  cvy_range span = input_row(p, at, part) < 0 ? (cvy_range){0, 0} : inside(p, at, part);
  blank(to, span.begin);
  blank(to + span.end, part->length - span.end);
}

static void for_stretches(const cvy_column_block *block, const tap *at, visit *fn, float *columns,
                          float *plane) {
  stretch part = first_stretch(block);
  do fn(block, at, &part, columns, plane);
  while (next_stretch(block, &part));
}

/* Where the shifted line lies in the plane, and which part of it exists there. */
static cvy_range shifted_span(const cvy_column_block *block, const tap *at, int64_t *shift) {
  const cvy_problem *p = block->problem;
  *shift = block->begin + (at->z * p->in[1] + at->h) * p->in[2] + at->w;
  return cvy_outputs_inside(cvy_in_volume(p), block->count, 1, *shift);
}

static void fill_shifted(const cvy_column_block *block, const tap *at, float *columns,
                         float *plane) {
  int64_t shift;
  cvy_range span = shifted_span(block, at, &shift);
  if (span.begin < span.end) {
    memcpy(columns + span.begin, plane + shift + span.begin,
           (size_t)(cvy_range_length(span)) * sizeof *columns);
  }
  for_stretches(block, at, blank_padding, columns, plane);
}

static void add_shifted(const cvy_column_block *block, const tap *at, float *columns,
                        float *plane) {
  int64_t shift;
  cvy_range span = shifted_span(block, at, &shift);
  for_stretches(block, at, blank_padding, columns, plane);
  if (span.begin < span.end) {
    block->simd->axpy(plane + shift + span.begin, 1, columns + span.begin, 1, 1.0f,
                      cvy_range_length(span));
  }
}

static void fill_any(const cvy_column_block *block, const tap *at, float *columns, float *plane) {
  for_stretches(block, at, fill_stretch, columns, plane);
}

static void add_any(const cvy_column_block *block, const tap *at, float *columns, float *plane) {
  for_stretches(block, at, add_stretch, columns, plane);
}

/* ------------------------------------------------------------------------------ all lines */

typedef void line_fn(const cvy_column_block *block, const tap *at, float *columns, float *plane);

static void for_lines(const cvy_column_block *block, line_fn *fn, float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  int64_t volume = cvy_in_volume(p);
  for (int64_t c = 0; c < block->channels; c++, plane += volume) {
    for (int64_t t = 0; t < p->filter[0]; t++) {
      for (int64_t r = 0; r < p->filter[1]; r++) {
        for (int64_t s = 0; s < p->filter[2]; s++, columns += block->count) {
          tap at = {t * p->dilation[0] - p->pad[0], r * p->dilation[1] - p->pad[1],
                    s * p->dilation[2] - p->pad[2]};
          fn(block, &at, columns, plane);
        }
      }
    }
  }
}

/* Filling only reads the plane; it shares its walk with adding, which writes it. */
void cvy_columns_fill(const cvy_column_block *block, const float *x, float *columns) {
  for_lines(block, is_shifted(block->problem) ? fill_shifted : fill_any, columns, (float *)x);
}

void cvy_columns_add(const cvy_column_block *block, float *columns, float *dx) {
  for_lines(block, is_shifted(block->problem) ? add_shifted : add_any, columns, dx);
}
