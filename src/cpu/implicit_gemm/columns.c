/* Packing columns: what the results of a block multiply the filters with. Columns follow each other
 * without gaps, over the ends of rows and of images, so that no element of a vector is idle. */
#include "cpu/implicit_gemm/maps.h"
#include "problem/conv/conv.h"

/* Cuts `count` columns whose sources are neighbours at the ends of strips. */
static void add_run(cvy_cpu_implicit_gemm_block *b, int64_t column, int64_t from, int64_t count) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t width = cvy_microkernel_columns(plan->kernel);
  while (count > 0) {
    int64_t strip = column / width, within = column % width;
    int64_t here = cvy_min(count, width - within);
    b->runs[b->run_count++] = (cvy_copy_run){from, strip * plan->floats.strip + within, here};
    column += here, from += here, count -= here;
  }
}

void cvy_cpu_implicit_gemm_runs(cvy_cpu_implicit_gemm_block *b) {
  const int64_t *extent = b->layout.extent, *from = b->columns.from, *count = b->columns.extent;
  int64_t first = (from[0] * extent[1] + from[1]) * extent[2] + from[2], column = 0;
  b->run_count = 0;
  for (int64_t i = 0; i < cvy_range_length(b->of.images); i++) {
    for (int64_t z = 0; z < count[0]; z++) {
      for (int64_t h = 0; h < count[1]; h++, column += count[2]) {
        int64_t row = (z * extent[1] + h) * extent[2];
        add_run(b, column, i * b->run->plan.pitch.image + first + row, count[2]);
      }
    }
  }
}

/* Channel `first` of the block's source in the first image. */
static const float *source(const cvy_cpu_implicit_gemm_block *b, int64_t first) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t channel = b->group * plan->channels + first;
  return b->run->call->in[0] + cvy_conv_place(&plan->p, CVY_X, b->of.images.begin, channel) +
         b->of.in_at;
}

static void load(const cvy_cpu_implicit_gemm_block *b, cvy_range channels) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  int64_t volume = cvy_in_volume(&plan->p), count = cvy_range_length(channels);
  int64_t image = cvy_conv_pitch(&plan->p, CVY_X);
  const float *x = source(b, channels.begin);
  for (int64_t i = 0; i < cvy_range_length(b->of.images); i++, x += image) {
    for (int64_t c = 0; c < count; c++) {
      cvy_planes_load_x(&b->layout, b->run->call->simd, x + c * volume,
                        b->x + c * plan->pitch.channel + i * plan->pitch.image);
    }
  }
}

void cvy_cpu_implicit_gemm_source(cvy_cpu_implicit_gemm_block *b) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  bool flat = plan->columns == CVY_COLUMNS_FROM_SOURCE;
  for (int64_t i = 0; i < plan->taps; i++)
    b->taps[i] = flat ? 0 : cvy_cpu_implicit_gemm_tap(plan, &b->layout, b->run->order[i]);
  if (cvy_cpu_implicit_gemm_loads_all(plan)) load(b, (cvy_range){0, plan->channels});
}

void cvy_cpu_implicit_gemm_panel(const cvy_cpu_implicit_gemm_block *b, cvy_range channels) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &b->run->plan;
  cvy_range taps = {b->run->begin[b->phase], b->run->begin[b->phase + 1]};
  /* Without taps all results are 0. */
  if (!cvy_cpu_implicit_gemm_packs(plan) || taps.begin == taps.end) return;
  bool flat = plan->columns == CVY_COLUMNS_FROM_SOURCE;
  if (plan->columns == CVY_COLUMNS_FROM_SOME_PLANES) load(b, channels);
  const float *x = flat ? source(b, channels.begin) : b->x;
  if (plan->columns == CVY_COLUMNS_FROM_ALL_PLANES) x += channels.begin * plan->pitch.channel;
  float *to = b->panel;
  for (int64_t c = channels.begin; c < channels.end; c++, x += plan->pitch.channel) {
    for (int64_t t = taps.begin; t < taps.end; t++) {
      b->run->call->simd->pack(to, x + b->taps[t], b->runs, b->run_count, !flat);
      to += cvy_microkernel_columns(plan->kernel);
    }
  }
}
