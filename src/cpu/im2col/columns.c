/* Filling and adding back column blocks, a run of outputs of one row at a time. Where input and
 * output have the same extents and no strides, a whole line of the matrix is one shifted copy of
 * the channel, of which just the elements in the padding must be blanked. */
#include "cpu/im2col/columns.h"
#include "problem/conv/conv.h"

#include <string.h>

/* One line of the column matrix. */
typedef struct column_tap {
  int64_t z, h, w; /* offset of the input from output * stride */
} column_tap;

/* Part of one output row. */
typedef struct row_part {
  int64_t oz, oh, ow, length;
  int64_t at; /* in the block */
} row_part;

typedef void visit(const cvy_column_block *block, const column_tap *at, const row_part *part,
                   float *columns, float *plane);

static row_part first_part(const cvy_column_block *block) {
  const int64_t *out = block->problem->conv.out;
  int64_t row = block->pixels.begin / out[2], ow = block->pixels.begin % out[2];
  int64_t length = cvy_min(out[2] - ow, cvy_range_length(block->pixels));
  return (row_part){row / out[1], row % out[1], ow, length, 0};
}

static bool next_part(const cvy_column_block *block, row_part *part) {
  const int64_t *out = block->problem->conv.out;
  int64_t count = cvy_range_length(block->pixels);
  part->at += part->length;
  if (part->at >= count) return false;
  part->ow = 0;
  part->length = cvy_min(out[2], count - part->at);
  part->oh++;
  if (part->oh < out[1]) return true;
  part->oh = 0;
  part->oz++;
  return true;
}

/* The input row that a part sees, or -1 if it lies in the padding. */
static int64_t input_row(const cvy_problem *p, const column_tap *at, const row_part *part) {
  int64_t z = part->oz * p->conv.stride[0] + at->z, h = part->oh * p->conv.stride[1] + at->h;
  bool inside = z >= 0 && z < p->conv.in[0] && h >= 0 && h < p->conv.in[1];
  return inside ? z * p->conv.in[1] + h : -1;
}

/* Which outputs of a part lie inside its input row, counted from the part's begin. None do if there
 * is no such row. */
static cvy_range inside(const cvy_problem *p, const column_tap *at, const row_part *part,
                        int64_t row) {
  if (row < 0) return (cvy_range){0, 0};
  return cvy_outputs_inside(p->conv.in[2], part->length, p->conv.stride[2],
                            part->ow * p->conv.stride[2] + at->w);
}

/* The input that output number `output` of a part sees. */
static float *input_at(const cvy_problem *p, const column_tap *at, const row_part *part,
                       int64_t row, int64_t output, float *plane) {
  return plane + row * p->conv.in[2] + (part->ow + output) * p->conv.stride[2] + at->w;
}

/* -------------------------------------------------------------------------- any geometry */

static void blank(float *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = 0;
}

static void fill_part(const cvy_column_block *block, const column_tap *at, const row_part *part,
                      float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  float *to = columns + part->at;
  int64_t row = input_row(p, at, part);
  cvy_range real = inside(p, at, part, row);
  blank(to, real.begin);
  if (real.begin < real.end) {
    block->simd->gather(to + real.begin, input_at(p, at, part, row, real.begin, plane),
                        p->conv.stride[2], cvy_range_length(real));
  }
  blank(to + real.end, part->length - real.end);
}

static void add_part(const cvy_column_block *block, const column_tap *at, const row_part *part,
                     float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  int64_t row = input_row(p, at, part);
  cvy_range real = inside(p, at, part, row);
  if (real.begin < real.end) {
    block->simd->axpy(input_at(p, at, part, row, real.begin, plane), p->conv.stride[2],
                      columns + part->at + real.begin, 1, 1.0f, cvy_range_length(real));
  }
}

/* ----------------------------------------------------------------------- shifted geometry */

static bool is_shifted(const cvy_problem *p) {
  for (int i = 0; i < 3; i++)
    if (p->conv.stride[i] != 1 || p->conv.in[i] != p->conv.out[i]) return false;
  return true;
}

static void blank_padding(const cvy_column_block *block, const column_tap *at, const row_part *part,
                          float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  (void)plane;
  float *to = columns + part->at;
  cvy_range real = inside(p, at, part, input_row(p, at, part));
  blank(to, real.begin);
  blank(to + real.end, part->length - real.end);
}

static void for_parts(const cvy_column_block *block, const column_tap *at, visit *fn,
                      float *columns, float *plane) {
  row_part part = first_part(block);
  do fn(block, at, &part, columns, plane);
  while (next_part(block, &part));
}

/* Which columns of the shifted line exist in the plane, where it begins at *shift. */
static cvy_range shifted_columns(const cvy_column_block *block, const column_tap *at,
                                 int64_t *shift) {
  const cvy_problem *p = block->problem;
  *shift = block->pixels.begin + (at->z * p->conv.in[1] + at->h) * p->conv.in[2] + at->w;
  return cvy_outputs_inside(cvy_in_volume(p), cvy_range_length(block->pixels), 1, *shift);
}

static void fill_shifted(const cvy_column_block *block, const column_tap *at, float *columns,
                         float *plane) {
  int64_t shift;
  cvy_range real = shifted_columns(block, at, &shift);
  if (real.begin < real.end) {
    memcpy(columns + real.begin, plane + shift + real.begin,
           (size_t)cvy_range_length(real) * sizeof *columns);
  }
  for_parts(block, at, blank_padding, columns, plane);
}

static void add_shifted(const cvy_column_block *block, const column_tap *at, float *columns,
                        float *plane) {
  int64_t shift;
  cvy_range real = shifted_columns(block, at, &shift);
  for_parts(block, at, blank_padding, columns, plane);
  if (real.begin < real.end) {
    block->simd->axpy(plane + shift + real.begin, 1, columns + real.begin, 1, 1.0f,
                      cvy_range_length(real));
  }
}

static void fill_any(const cvy_column_block *block, const column_tap *at, float *columns,
                     float *plane) {
  for_parts(block, at, fill_part, columns, plane);
}

static void add_any(const cvy_column_block *block, const column_tap *at, float *columns,
                    float *plane) {
  for_parts(block, at, add_part, columns, plane);
}

/* ------------------------------------------------------------------------------ all lines */

typedef void line_fn(const cvy_column_block *block, const column_tap *at, float *columns,
                     float *plane);

static void for_lines(const cvy_column_block *block, line_fn *fn, float *columns, float *plane) {
  const cvy_problem *p = block->problem;
  int64_t volume = cvy_in_volume(p), count = cvy_range_length(block->pixels);
  for (int64_t c = 0; c < block->channels; c++, plane += volume) {
    for (int64_t t = 0; t < p->conv.filter[0]; t++) {
      for (int64_t r = 0; r < p->conv.filter[1]; r++) {
        for (int64_t s = 0; s < p->conv.filter[2]; s++, columns += count) {
          column_tap at = {t * p->conv.dilation[0] - p->conv.pad[0],
                           r * p->conv.dilation[1] - p->conv.pad[1],
                           s * p->conv.dilation[2] - p->conv.pad[2]};
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
