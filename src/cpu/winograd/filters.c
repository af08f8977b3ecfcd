/* Transforming filters for cpu.winograd: once per call, shared by all threads, or where they are
 * used. */
#include <string.h>

#include "cpu/winograd/maps.h"

/* Collects the taps of some channels of a kernel tile, [tap][channel][row]. Rows beyond the last
 * output are 0. */
static void collect(const cvy_cpu_winograd_maps_plan *plan, const cvy_cpu_call *call, int64_t tile,
                    cvy_range channels, float *to) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t rows = t->kernel->rows, group = tile / t->kernel_tiles;
  int64_t pitch = CVY_CPU_WINOGRAD_CHANNELS * rows;
  int64_t k = tile % t->kernel_tiles * rows, real = cvy_min(rows, t->outputs - k);
  /* In memory as [output][input] of the problem, which is mirrored for backward_data. */
  int64_t per_output = plan->mirrored ? 9 : 9 * t->channels;
  int64_t per_channel = plan->mirrored ? 9 * t->outputs : 9;
  const float *w = call->in[1] + group * t->outputs * t->channels * 9 + k * per_output;
  if (real < rows) memset(to, 0, (size_t)(9 * pitch) * sizeof *to);
  for (int64_t c = channels.begin; c < channels.end; c++, to += rows)
    call->simd->transpose(to, pitch, w + c * per_channel, per_output, real, 9);
}

void cvy_cpu_winograd_transform_filter(const cvy_cpu_winograd_maps_plan *plan,
                                       const cvy_cpu_call *call, int64_t tile, cvy_range channels,
                                       float *taps, float *to) {
  const cvy_cpu_winograd_tiling *t = &plan->tiling;
  int64_t rows = t->kernel->rows, pitch = CVY_CPU_WINOGRAD_CHANNELS * rows;
  bool mirrored = plan->mirrored; /* from the last tap to the first */
  for (int64_t c = channels.begin; c < channels.end; c += CVY_CPU_WINOGRAD_CHANNELS) {
    cvy_range some = {c, cvy_min(c + CVY_CPU_WINOGRAD_CHANNELS, channels.end)};
    collect(plan, call, tile, some, taps);
    t->transform[CVY_WINOGRAD_FILTER](
        &(cvy_winograd_arrays){.from = mirrored ? taps + 8 * pitch : taps,
                               .from_row = mirrored ? -3 * pitch : 3 * pitch,
                               .from_column = mirrored ? -pitch : pitch,
                               .to = to + (c - channels.begin) * rows,
                               .to_row = t->n * plan->pitch.filter,
                               .to_column = plan->pitch.filter,
                               .count = cvy_range_length(some) * rows});
  }
}

typedef struct filters_run {
  const cvy_cpu_winograd_maps_plan *plan;
  const cvy_cpu_call *call;
  float *to;
} filters_run;

static void transform(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const filters_run *f = arg;
  const cvy_cpu_winograd_maps_plan *plan = f->plan;
  cvy_range all = {0, plan->tiling.channels};
  float *taps = f->to + plan->floats.shared + slot * plan->floats.slot;
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    cvy_cpu_winograd_transform_filter(plan, f->call, i, all, taps,
                                      f->to + i * plan->pitch.filter_tile);
  }
}

void cvy_cpu_winograd_transform_filters(const cvy_cpu_winograd_maps_plan *plan,
                                        const cvy_cpu_call *call, float *to) {
  filters_run f = {plan, call, to};
  cvy_parallel_items(call->threads, plan->tiling.p.conv.groups * plan->tiling.kernel_tiles,
                     transform, &f);
}
