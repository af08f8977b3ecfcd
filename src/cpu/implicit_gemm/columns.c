/* Packing columns: what the results of a block multiply the filters with. Columns follow each other
 * without gaps, over the ends of rows and of images, so that the microkernel has no idle places. */
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/range.h"

/* Splits `count` columns whose sources are neighbours at the ends of strips. */
static void add_run(cvy_cpu_implicit_gemm_block *b, int64_t column, int64_t from, int64_t count) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t width = cvy_microkernel_columns(plan->kernel);
  while (count > 0) {
    int64_t strip = column / width, within = column % width;
    int64_t here = cvy_min(count, width - within);
    b->runs[b->run_count++] = (cvy_copy_run){from, strip * plan->strip_floats + within, here};
    column += here, from += here, count -= here;
  }
}

void cvy_cpu_implicit_gemm_runs(cvy_cpu_implicit_gemm_block *b) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  const int64_t *extent = b->layout.extent, *count = b->count;
  int64_t first = (b->from[0] * extent[1] + b->from[1]) * extent[2] + b->from[2], column = 0;
  b->run_count = 0;
  for (int64_t i = 0; i < b->images; i++) {
    for (int64_t z = 0; z < count[0]; z++) {
      for (int64_t h = 0; h < count[1]; h++, column += count[2])
        add_run(b, column, i * plan->x_image + first + (z * extent[1] + h) * extent[2], count[2]);
    }
  }
}

/* Channel `first` of the block's source, first image. */
static const float *source(const cvy_cpu_implicit_gemm_block *b, int64_t first) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t channel = b->image * plan->p.c + b->group * plan->channels + first;
  return b->run->call->a + channel * cvy_in_volume(&plan->p) + b->skip;
}

static void load(const cvy_cpu_implicit_gemm_block *b, int64_t first, int64_t count) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  int64_t volume = cvy_in_volume(&plan->p);
  const float *x = source(b, first);
  for (int64_t i = 0; i < b->images; i++, x += plan->p.c * volume) {
    for (int64_t c = 0; c < count; c++) {
      cvy_planes_load_x(&b->layout, b->run->call->simd, x + c * volume,
                        b->x + c * plan->x_pitch + i * plan->x_image);
    }
  }
}

void cvy_cpu_implicit_gemm_source(cvy_cpu_implicit_gemm_block *b) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  for (int64_t i = 0; i < plan->taps; i++)
    b->taps[i] = plan->flat ? 0 : cvy_cpu_implicit_gemm_tap(plan, &b->layout, b->run->order[i]);
  if (plan->resident) load(b, 0, plan->channels);
}

void cvy_cpu_implicit_gemm_panel(const cvy_cpu_implicit_gemm_block *b, int64_t first,
                                 int64_t count) {
  const cvy_cpu_implicit_gemm_plan *plan = &b->run->plan;
  const int64_t *begin = b->run->begin;
  /* Without taps all results are 0. */
  if (plan->shifted || begin[b->phase] == begin[b->phase + 1]) return;
  if (!plan->flat && !plan->resident) load(b, first, count);
  const float *x = plan->flat ? source(b, first) : b->x;
  if (plan->resident) x += first * plan->x_pitch;
  float *to = b->panel;
  for (int64_t c = 0; c < count; c++, x += plan->x_pitch) {
    for (int64_t t = begin[b->phase]; t < begin[b->phase + 1]; t++) {
      b->run->call->simd->pack(to, x + b->taps[t], b->runs, b->run_count, !plan->flat);
      to += cvy_microkernel_columns(plan->kernel);
    }
  }
}
