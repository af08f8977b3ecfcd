/* Transforming filters for cpu.winograd: once per call, shared by all threads, or where they are
 * used. */
#include <string.h>

#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

/* The taps of some channels of a kernel tile, [tap][channel][row]; rows beyond the last output
 * 0. */
static void collect(const cvy_cpu_winograd_maps_plan *plan, const cvy_cpu_call *call, int64_t tile,
                    int64_t first, int64_t count, float *to) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t rows = s->kernel->rows, group = tile / s->kernel_tiles,
          pitch = CVY_CPU_WINOGRAD_CHANNELS * rows;
  int64_t k = tile % s->kernel_tiles * rows, real = cvy_min(rows, s->outputs - k);
  /* In memory as [output][input] of the problem, which is mirrored for backward_data. */
  int64_t per_output = plan->mirrored ? 9 : 9 * s->channels;
  int64_t per_channel = plan->mirrored ? 9 * s->outputs : 9;
  const float *w = call->b + group * s->outputs * s->channels * 9 + k * per_output;
  if (real < rows) memset(to, 0, (size_t)(9 * pitch) * sizeof *to);
  for (int64_t c = 0; c < count; c++)
    call->simd->transpose(to + c * rows, pitch, w + (first + c) * per_channel, per_output, real, 9);
}

void cvy_cpu_winograd_transform_filter(const cvy_cpu_winograd_maps_plan *plan,
                                       const cvy_cpu_call *call, int64_t tile, int64_t first,
                                       int64_t count, float *taps, float *to) {
  const cvy_cpu_winograd_tiling *s = &plan->shape;
  int64_t rows = s->kernel->rows, pitch = CVY_CPU_WINOGRAD_CHANNELS * rows;
  bool mirrored = plan->mirrored; /* from the last tap to the first */
  for (int64_t c = 0; c < count; c += CVY_CPU_WINOGRAD_CHANNELS) {
    int64_t some = cvy_min(CVY_CPU_WINOGRAD_CHANNELS, count - c);
    collect(plan, call, tile, first + c, some, taps);
    s->transform[CVY_WINOGRAD_FILTER](
        &(cvy_winograd_arrays){.from = mirrored ? taps + 8 * pitch : taps,
                               .from_row = mirrored ? -3 * pitch : 3 * pitch,
                               .from_column = mirrored ? -pitch : pitch,
                               .to = to + c * rows,
                               .to_row = s->n * plan->filter_pitch,
                               .to_column = plan->filter_pitch,
                               .count = some * rows});
  }
}

typedef struct filters {
  const cvy_cpu_winograd_maps_plan *plan;
  const cvy_cpu_call *call;
  float *to;
} filters;

static void transform(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const filters *f = arg;
  const cvy_cpu_winograd_maps_plan *plan = f->plan;
  float *taps = f->to + plan->shared_floats + slot * plan->slot_floats;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    cvy_cpu_winograd_transform_filter(plan, f->call, i, 0, plan->shape.channels, taps,
                                      f->to + i * plan->filter_tile);
  }
}

void cvy_cpu_winograd_transform_filters(const cvy_cpu_winograd_maps_plan *plan,
                                        const cvy_cpu_call *call, float *to) {
  filters f = {plan, call, to};
  cvy_parallel_items(call->threads, plan->shape.p.groups * plan->shape.kernel_tiles, transform, &f);
}
