/* Forward and backward_data of cpu.depthwise, channel by channel. */
#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/stream.h"
#include "problem/conv/conv.h"

static void sort_weights(const cvy_cpu_depthwise_run *d, const float *w, float *sorted) {
  int64_t taps = d->plan.inputs * cvy_filter_volume(&d->plan.p);
  for (int64_t i = 0; i < d->plan.outputs; i++, w += taps, sorted += taps)
    for (int64_t t = 0; t < taps; t++) sorted[t] = w[d->order[t]];
}

/* ----------------------------------------------------------------- results made beside `out` */

/* Interleaves the rows of both phases of a stride of 2. */
static void join(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                 const float *from, float *out) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t even = plan->axis[2].pad % 2, odd = (1 - 2 * even) * plan->results.phase;
  d->call->simd->join_rows(&(cvy_copy_rows){.to = out + parts[even].to,
                                            .from = from + even * plan->results.phase,
                                            .to_pitch = parts[even].to_row,
                                            .from_pitch = plan->results.row,
                                            .rows = parts[even].rows,
                                            .length = plan->axis[2].result},
                           odd);
}

static void add_rows(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *part,
                     const float *from, float *out) {
  for (int64_t i = 0; i < part->rows; i++, from += d->plan.results.row) {
    d->call->simd->axpy(out + part->to + i * part->to_row, d->plan.axis[2].phases, from, 1, 1.0f,
                        part->length);
  }
}

/* Moves rows of all phases of the last axis to their channel. */
static void move(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                 const float *from, float *out) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t phases = plan->axis[2].phases;
  if (phases == 2 && !plan->p.accumulate) {
    join(d, parts, from, out);
    return;
  }
  for (int64_t q = 0; q < phases; q++, from += plan->results.phase) {
    if (plan->p.accumulate) {
      add_rows(d, &parts[q], from, out);
    } else {
      d->call->simd->scatter_rows(&(cvy_copy_rows){.to = out + parts[q].to,
                                                   .from = from,
                                                   .to_pitch = parts[q].to_row,
                                                   .from_pitch = plan->results.row,
                                                   .rows = parts[q].rows,
                                                   .length = parts[q].length},
                                  phases);
    }
  }
}

/* -------------------------------------------------------------------------------- summing */

/* Makes rows whose results lie beside each other: there is one part for each phase of the last
 * axis. */
static void sum_rows(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                     const float *x, const float *w, float *side, float *out,
                     cvy_prefetch *prefetch) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  bool aside = plan->results.aside;
  if (parts->rows == 0) return;
  for (int64_t q = 0; q < plan->axis[2].phases; q++) {
    cvy_stencil stencil = cvy_cpu_depthwise_stencil(d, &parts[q], x);
    stencil.prefetch = prefetch;
    float *to = aside ? side + q * plan->results.phase : out + parts[q].to;
    d->call->simd->sums(&stencil, w + parts[q].taps, to,
                        aside ? plan->results.row : parts[q].to_row);
  }
  if (aside) move(d, parts, side, out);
}

/* Makes all results of one channel of the source, or of the channels that are summed. */
static void sum_channel(const cvy_cpu_depthwise_run *d, const float *source, float *out,
                        const cvy_cpu_depthwise_slot *slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t taps = plan->inputs * cvy_filter_volume(&plan->p);
  int64_t volume = plan->axis[0].result * plan->axis[1].result * plan->axis[2].result;
  int64_t chunk = plan->strip.height * plan->axis[1].phases * plan->axis[2].result;
  int64_t vectors = cvy_cpu_depthwise_vectors(d);
  for (int64_t s = 0; s < plan->strip.count; s++) {
    const float *x = cvy_cpu_depthwise_strip(d, s, source, slot->x);
    const cvy_cpu_depthwise_part *parts = &d->parts[s * plan->phases];
    cvy_prefetch prefetch[2] = {cvy_cpu_depthwise_prefetch_next(d, s, source)};
    for (int64_t i = 0; i < plan->outputs; i++) {
      const float *next = out + i * volume + parts->to + chunk;
      int64_t floats = plan->results.stream ? 0 : chunk;
      prefetch[1] = cvy_cpu_depthwise_prefetch(next, floats, vectors, true);
      for (int64_t q = 0; q < plan->phases; q += plan->axis[2].phases)
        sum_rows(d, &parts[q], x, slot->w + i * taps, slot->y, out + i * volume, prefetch);
    }
  }
}

void cvy_cpu_depthwise_sum_channels(void *run, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = run;
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_call *call = d->call;
  bool data = plan->p.operation == CONVOY_BACKWARD_DATA, stream = plan->results.stream;
  int64_t to = data ? cvy_in_volume(&plan->p) : cvy_out_volume(&plan->p);
  int64_t outputs = plan->outputs;
  int64_t taps = plan->inputs * outputs * cvy_filter_volume(&plan->p);
  cvy_cpu_depthwise_slot memory = cvy_cpu_depthwise_clear(d, slot);
  for (int64_t nc = begin; nc < end; nc++, cvy_heartbeat_tick()) {
    int64_t n = nc / plan->p.conv.c, c = nc % plan->p.conv.c;
    int64_t x = cvy_conv_place(&plan->p, CVY_X, n, c);
    int64_t y = cvy_conv_place(&plan->p, CVY_Y, n, c * (data ? plan->inputs : outputs));
    float *out = call->out[0] + (data ? x : y), *made = stream ? memory.z : out;
    sort_weights(d, call->in[1] + c * taps, memory.w);
    sum_channel(d, call->in[0] + (data ? y : x), made, &memory);
    for (int64_t i = 0; i < outputs; i++)
      cvy_cpu_epilogue(call, made + i * to, c * outputs + i, to);
    if (stream) cvy_stream(out, made, outputs * to);
  }
  cvy_stream_end();
}
