/* Where the results of cpu.implicit_gemm's forward and backward_data go. */
#include <string.h>

#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/range.h"

/* `count` neighbouring places of outputs [first, last) of the group. */
static void put(const cvy_cpu_implicit_gemm_block *b, int64_t first, int64_t last, float *from,
                float *y, int64_t count) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  const cvy_cpu_call *call = b->run->call;
  int64_t step = b->step[2], group = b->group * plan->outputs;
  int64_t width = cvy_microkernel_columns(plan->kernel);
  for (int64_t k = first; k < last; k++, y += b->volume, from += width) {
    cvy_cpu_epilogue(call, from, group + k, count);
    if (plan->p.accumulate)
      call->simd->axpy(y, step, from, 1, 1.0f, count);
    else if (step == 1)
      memcpy(y, from, (size_t)count * sizeof *y);
    else
      call->simd->scatter(y, step, from, count);
  }
}

/* The index in an output that place (z, h, w) stands for; -1: none. */
static int64_t index_of(const cvy_cpu_implicit_gemm_block *b, int64_t z, int64_t h, int64_t w) {
  const int64_t at[3] = {z, h, w};
  int64_t index = 0;
  for (int i = 0; i < 3; i++) {
    int64_t here = at[i] * b->step[i] + b->offset[i];
    if (here < 0 || here >= b->limit[i]) return -1;
    index = index * b->limit[i] + here;
  }
  return index;
}

/* Of the outputs of an image, how many lie before that of a column of the block. */
static int64_t at_column(const cvy_cpu_implicit_gemm_block *b, int64_t column) {
  int64_t row = column / b->width, z = row / b->height, h = row % b->height;
  return (z * b->p.out[1] + h) * b->p.out[2] + column % b->width;
}

/* The group's first output of an image of the block. */
static float *outputs_of(const cvy_cpu_implicit_gemm_block *b, int64_t image) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  return b->run->call->out +
         ((b->image + image) * plan->p.k + b->group * plan->outputs) * b->volume;
}

/* Without phases the results of a block lie in the order of its columns, but for gaps. */
static float *direct(const cvy_cpu_implicit_gemm_block *b, int64_t begin, int64_t end) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t places = cvy_out_volume(&b->p), image = plan->shifted ? 0 : begin / places;
  if (plan->phases > 1 || (end - begin) % plan->kernel->width != 0) return NULL;
  float *first = outputs_of(b, image) + index_of(b, 0, 0, 0);
  if (plan->shifted) return plan->by_rows ? first + at_column(b, begin) : NULL;
  return (end - 1) / places == image ? first + begin % places : NULL;
}

void cvy_cpu_implicit_gemm_columns(cvy_cpu_implicit_gemm_block *b) {
  bool shifted = b->run->plan.shifted;
  const int64_t *out = b->p.out;
  for (int i = 0; i < 3; i++) {
    cvy_range real = cvy_outputs_inside(b->limit[i], out[i], b->step[i], b->offset[i]);
    b->from[i] = shifted ? 0 : real.begin;
    b->count[i] = shifted ? out[i] : real.end - real.begin;
  }
  b->width = shifted ? b->layout.extent[2] : b->count[2];
  b->height = shifted ? b->layout.extent[1] : b->count[1];
  b->columns = b->images * b->count[0] * b->count[1] * b->count[2];
  if (shifted) b->columns = b->layout.y_floats;
}

static void add_strips(cvy_cpu_implicit_gemm_block *b, int64_t begin, int64_t end) {
  int64_t width = b->run->plan.kernel->width, vectors = (end - begin + width - 1) / width;
  int64_t strips = (vectors + CVY_MICROKERNEL_VECTORS - 1) / CVY_MICROKERNEL_VECTORS;
  for (int64_t i = 0; i < strips; i++) {
    int64_t from = begin + i * vectors / strips * width;
    int64_t to = cvy_min(begin + (i + 1) * vectors / strips * width, end);
    b->strips[b->strip_count++] = (cvy_cpu_implicit_gemm_strip){from, to, direct(b, from, to)};
  }
}

void cvy_cpu_implicit_gemm_strips(cvy_cpu_implicit_gemm_block *b) {
  const int64_t *out = b->p.out;
  int64_t width = cvy_microkernel_columns(b->run->plan.kernel);
  b->strip_count = 0;
  if (b->run->plan.by_rows && b->run->plan.shifted) {
    for (int64_t z = 0; z < out[0]; z++) {
      for (int64_t h = 0; h < out[1]; h++) {
        int64_t begin = (z * b->height + h) * b->width;
        add_strips(b, begin, begin + out[2]);
      }
    }
    return;
  }
  for (int64_t begin = 0; begin < b->columns; begin += width)
    add_strips(b, begin, cvy_min(begin + width, b->columns));
}

void cvy_cpu_implicit_gemm_put(const cvy_cpu_implicit_gemm_block *b, int64_t first, int64_t last,
                               const cvy_cpu_implicit_gemm_strip *s, float *from) {
  const int64_t *count = b->count, *skip = b->from;
  cvy_range real = cvy_outputs_inside(b->limit[2], b->p.out[2], b->step[2], b->offset[2]);
  real.begin -= skip[2], real.end -= skip[2];
  for (int64_t at = s->begin, next; at < s->end; at = next) {
    int64_t row = at / b->width, start = row * b->width, h = row % b->height;
    next = cvy_min(start + b->width, s->end);
    int64_t w = cvy_max(at - start, real.begin);
    int64_t length = cvy_min(next - start, real.end) - w;
    int64_t image = row / b->height / count[0], z = row / b->height % count[0];
    bool some = length > 0 && h < count[1];
    int64_t index = some ? index_of(b, z + skip[0], h + skip[1], w + skip[2]) : -1;
    if (index >= 0) {
      put(b, first, last, from + start + w - s->begin,
          outputs_of(b, image) + first * b->volume + index, length);
    }
  }
}
