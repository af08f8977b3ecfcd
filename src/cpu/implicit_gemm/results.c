/* Which columns a block has, and where their results go. */
#include <string.h>

#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/epilogue.h"
#include "problem/conv/conv.h"

/* Puts `count` neighbouring results of some outputs of the group, the first output's to `y`. */
static void put(const cvy_cpu_implicit_gemm_block *b, cvy_range outputs, float *from, float *y,
                int64_t count) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  const cvy_cpu_call *call = b->run->call;
  int64_t step = b->results.step[2], group = b->group * plan->outputs;
  int64_t width = cvy_microkernel_columns(plan->kernel);
  for (int64_t k = outputs.begin; k < outputs.end; k++, y += b->results.volume, from += width) {
    cvy_cpu_epilogue(call, from, group + k, count);
    if (plan->p.accumulate)
      call->simd->axpy(y, step, from, 1, 1.0f, count);
    else if (step == 1)
      memcpy(y, from, (size_t)count * sizeof *y);
    else
      call->simd->scatter(y, step, from, count);
  }
}

/* The index in an output that place (z, h, w) stands for, or -1 if there is none. */
static int64_t index_of(const cvy_cpu_implicit_gemm_block *b, int64_t z, int64_t h, int64_t w) {
  const int64_t at[3] = {z, h, w};
  int64_t index = 0;
  for (int i = 0; i < 3; i++) {
    int64_t here = at[i] * b->results.step[i] + b->results.offset[i];
    if (here < 0 || here >= b->results.limit[i]) return -1;
    index = index * b->results.limit[i] + here;
  }
  return index;
}

/* How many of the outputs of an image lie before that of a column of the block. */
static int64_t at_column(const cvy_cpu_implicit_gemm_block *b, int64_t column) {
  int64_t row = column / b->columns.width;
  int64_t z = row / b->columns.height, h = row % b->columns.height;
  return (z * b->of.p.conv.out[1] + h) * b->of.p.conv.out[2] + column % b->columns.width;
}

/* The group's first output of an image of the block. */
static float *outputs_of(const cvy_cpu_implicit_gemm_block *b, int64_t image) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t pitch = cvy_array_view_pitch(&plan->p.conv.y, plan->p.conv.k * b->results.volume);
  return b->run->call->out[0] + (b->of.images.begin + image) * pitch +
         b->group * plan->outputs * b->results.volume;
}

/* Where the results of some columns belong, if they are neighbours there. Without phases the
 * results of a block lie in the order of its columns, but for gaps. */
static float *direct(const cvy_cpu_implicit_gemm_block *b, cvy_range columns) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  bool packed = cvy_cpu_implicit_gemm_packs(plan);
  int64_t places = cvy_out_volume(&b->of.p), image = packed ? columns.begin / places : 0;
  if (plan->phases > 1 || (cvy_range_length(columns)) % plan->kernel->width != 0) return NULL;
  if (plan->columns == CVY_COLUMNS_IN_PLANES) return NULL;
  float *first = outputs_of(b, image) + index_of(b, 0, 0, 0);
  if (plan->columns == CVY_COLUMNS_IN_ROWS) return first + at_column(b, columns.begin);
  return (columns.end - 1) / places == image ? first + columns.begin % places : NULL;
}

void cvy_cpu_implicit_gemm_set_columns(cvy_cpu_implicit_gemm_block *b) {
  bool packed = cvy_cpu_implicit_gemm_packs(&b->run->plan);
  const int64_t *out = b->of.p.conv.out, *extent = b->columns.extent;
  int64_t images = cvy_range_length(b->of.images);
  for (int i = 0; i < 3; i++) {
    cvy_range real =
        cvy_outputs_inside(b->results.limit[i], out[i], b->results.step[i], b->results.offset[i]);
    b->columns.from[i] = packed ? real.begin : 0;
    b->columns.extent[i] = packed ? cvy_range_length(real) : out[i];
  }
  b->columns.width = packed ? extent[2] : b->layout.extent[2];
  b->columns.height = packed ? extent[1] : b->layout.extent[1];
  b->columns.count = packed ? images * extent[0] * extent[1] * extent[2] : b->layout.y_floats;
}

static void add_strips(cvy_cpu_implicit_gemm_block *b, int64_t begin, int64_t end) {
  int64_t width = b->run->plan.kernel->width, vectors = cvy_div_up(end - begin, width);
  int64_t strips = cvy_div_up(vectors, CVY_MICROKERNEL_VECTORS);
  for (int64_t i = 0; i < strips; i++) {
    cvy_range share = cvy_share(vectors, strips, i);
    cvy_range columns = {begin + share.begin * width, cvy_min(begin + share.end * width, end)};
    b->strips[b->strip_count++] = (cvy_cpu_implicit_gemm_strip){columns, direct(b, columns)};
  }
}

void cvy_cpu_implicit_gemm_set_strips(cvy_cpu_implicit_gemm_block *b) {
  const int64_t *out = b->of.p.conv.out;
  int64_t width = cvy_microkernel_columns(b->run->plan.kernel);
  b->strip_count = 0;
  if (b->run->plan.columns == CVY_COLUMNS_IN_ROWS) {
    for (int64_t z = 0; z < out[0]; z++) {
      for (int64_t h = 0; h < out[1]; h++) {
        int64_t begin = (z * b->columns.height + h) * b->columns.width;
        add_strips(b, begin, begin + out[2]);
      }
    }
    return;
  }
  for (int64_t begin = 0; begin < b->columns.count; begin += width)
    add_strips(b, begin, cvy_min(begin + width, b->columns.count));
}

/* Goes through the strip row by row, and leaves out columns that are gaps. */
void cvy_cpu_implicit_gemm_put(const cvy_cpu_implicit_gemm_block *b, cvy_range outputs,
                               const cvy_cpu_implicit_gemm_strip *s, float *from) {
  const int64_t *count = b->columns.extent, *skip = b->columns.from;
  int64_t width = b->columns.width, height = b->columns.height;
  cvy_range real = cvy_outputs_inside(b->results.limit[2], b->of.p.conv.out[2], b->results.step[2],
                                      b->results.offset[2]);
  real.begin -= skip[2], real.end -= skip[2];
  for (int64_t at = s->columns.begin, next; at < s->columns.end; at = next) {
    int64_t row = at / width, start = row * width, h = row % height;
    next = cvy_min(start + width, s->columns.end);
    int64_t w = cvy_max(at - start, real.begin);
    int64_t length = cvy_min(next - start, real.end) - w;
    int64_t image = row / height / count[0], z = row / height % count[0];
    bool some = length > 0 && h < count[1];
    int64_t index = some ? index_of(b, z + skip[0], h + skip[1], w + skip[2]) : -1;
    if (index < 0) continue;
    put(b, outputs, from + start + w - s->columns.begin,
        outputs_of(b, image) + outputs.begin * b->results.volume + index, length);
  }
}
