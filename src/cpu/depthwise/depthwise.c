/* cpu.depthwise: one input channel per group. A strip of padded rows stays in the first level of
 * cache; results are summed in registers and go straight to where they belong. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/filter_row.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/stream.h"
#include "cpu/shared/workspace.h"

/* ------------------------------------------------------------------- forward, backward_data */

static void sort_weights(const cvy_cpu_depthwise_run *d, const float *w, float *sorted) {
  int64_t taps = d->plan.inputs * cvy_filter_volume(&d->plan.p);
  for (int64_t i = 0; i < d->plan.outputs; i++, w += taps, sorted += taps)
    for (int64_t t = 0; t < taps; t++) sorted[t] = w[d->order[t]];
}

/* Rows whose results lie beside each other: one part for each phase of the last axis. */
static void sum_rows(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *parts,
                     const float *x, const float *w, float *side, float *out,
                     cvy_prefetch *prefetch) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  if (parts->rows == 0) return;
  for (int64_t q = 0; q < plan->axis[2].phases; q++) {
    cvy_stencil stencil = cvy_cpu_depthwise_stencil(d, &parts[q], x);
    stencil.prefetch = prefetch;
    float *aside = side + q * plan->height * plan->side_row;
    d->call->simd->sums(&stencil, w + parts[q].list, plan->aside ? aside : out + parts[q].to,
                        plan->aside ? plan->side_row : parts[q].to_row);
  }
  if (plan->aside) cvy_cpu_depthwise_move(d, parts, side, out);
}

/* All results of one channel of the source, or of the channels that are summed. */
static void sum_channel(const cvy_cpu_depthwise_run *d, const float *source, float *out,
                        const cvy_cpu_depthwise_slot *slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t taps = plan->inputs * cvy_filter_volume(&plan->p);
  int64_t volume = plan->axis[0].result * plan->axis[1].result * plan->axis[2].result;
  int64_t chunk = plan->height * plan->axis[1].phases * plan->axis[2].result;
  int64_t vectors = cvy_cpu_depthwise_vectors(d);
  for (int64_t s = 0; s < plan->strips; s++) {
    const float *x = cvy_cpu_depthwise_strip(d, s, source, slot->x);
    const cvy_cpu_depthwise_part *parts = &d->parts[s * plan->phases];
    cvy_prefetch prefetch[2] = {cvy_cpu_depthwise_prefetch_next(d, s, source)};
    for (int64_t i = 0; i < plan->outputs; i++) {
      const float *next = out + i * volume + parts->to + chunk;
      prefetch[1] = cvy_cpu_depthwise_prefetch(next, plan->stream ? 0 : chunk, vectors, true);
      for (int64_t q = 0; q < plan->phases; q += plan->axis[2].phases)
        sum_rows(d, &parts[q], x, slot->w + i * taps, slot->y, out + i * volume, prefetch);
    }
  }
}

static void sum_channels(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = arg;
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_call *call = d->call;
  bool data = plan->p.direction == CONVOY_BACKWARD_DATA;
  int64_t x = cvy_in_volume(&plan->p), y = cvy_out_volume(&plan->p);
  int64_t from = data ? plan->inputs * y : x, to = data ? x : y, outputs = plan->outputs;
  int64_t taps = plan->inputs * outputs * cvy_filter_volume(&plan->p);
  cvy_cpu_depthwise_slot memory = cvy_cpu_depthwise_clear(d, slot);
  for (int64_t nc = begin; nc < end; nc++, cvy_heartbeat_tick()) {
    float *out = call->out + nc * outputs * to, *made = plan->stream ? memory.z : out;
    sort_weights(d, call->b + nc % plan->p.c * taps, memory.w);
    sum_channel(d, call->a + nc * from, made, &memory);
    for (int64_t i = 0; i < outputs; i++)
      cvy_cpu_epilogue(call, made + i * to, nc % plan->p.c * outputs + i, to);
    if (plan->stream) cvy_stream(out, made, outputs * to);
  }
  cvy_stream_end();
}

/* ----------------------------------------------------- backward_data where dy's rows are short */

static void add_output(const cvy_cpu_depthwise_run *d, const float *w, const float *dy, float *dx) {
  const cvy_problem *p = &d->plan.p;
  for (int64_t t = 0; t < p->filter[0]; t++) {
    for (int64_t r = 0; r < p->filter[1]; r++, w += p->filter[2]) {
      int64_t deep = t * p->dilation[0] - p->pad[0], top = r * p->dilation[1] - p->pad[1];
      cvy_range z = cvy_outputs_inside(p->in[0], p->out[0], p->stride[0], deep);
      cvy_range h = cvy_outputs_inside(p->in[1], p->out[1], p->stride[1], top);
      for (int64_t oz = z.begin; oz < z.end; oz++) {
        for (int64_t oh = h.begin; oh < h.end; oh++) {
          int64_t row = (oz * p->stride[0] + deep) * p->in[1] + oh * p->stride[1] + top;
          cvy_filter_row_scatter(d->call->simd, p, dx + row * p->in[2],
                                 dy + (oz * p->out[1] + oh) * p->out[2], w);
        }
      }
    }
  }
}

static void add_channels(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = arg;
  const cvy_problem *p = &d->plan.p;
  int64_t volume = cvy_in_volume(p), pixels = cvy_out_volume(p), taps = cvy_filter_volume(p);
  (void)slot;
  for (int64_t nc = begin; nc < end; nc++, cvy_heartbeat_tick()) {
    float *dx = d->call->out + nc * volume;
    if (!p->accumulate) memset(dx, 0, (size_t)volume * sizeof *dx);
    for (int64_t i = 0; i < d->plan.inputs; i++) {
      add_output(d, d->call->b + (nc % p->c * d->plan.inputs + i) * taps,
                 d->call->a + (nc * d->plan.inputs + i) * pixels, dx);
    }
    cvy_cpu_epilogue(d->call, dx, nc % p->c, volume);
  }
}

/* ----------------------------------------------------------------------- backward_weights */

/* Adds what the rows of dy in one strip give. Short rows get zeros up to a vector's end. */
static void dot_rows(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *part,
                     const float *x, const float *dy, float *side, float *sums,
                     cvy_prefetch *prefetch) {
  cvy_stencil stencil = cvy_cpu_depthwise_stencil(d, part, x);
  const float *y = dy + part->to;
  int64_t pitch = part->to_row, width = d->call->simd->microkernel.width;
  if (part->length < CVY_WIDEST_VECTOR) {
    d->call->simd->pad_rows(&(cvy_copy_rows){.to = side,
                                             .from = y,
                                             .to_pitch = CVY_WIDEST_VECTOR,
                                             .from_pitch = pitch,
                                             .rows = part->rows,
                                             .length = part->length});
    y = side;
    pitch = CVY_WIDEST_VECTOR;
    stencil.length = (part->length + width - 1) / width * width;
  }
  int64_t count = part->rows * part->to_row;
  prefetch[1] =
      cvy_cpu_depthwise_prefetch(dy + part->to + count, count, cvy_cpu_depthwise_vectors(d), false);
  stencil.prefetch = prefetch;
  d->call->simd->dots(&stencil, y, pitch, sums + part->list * CVY_WIDEST_VECTOR);
}

/* Of all outputs of channel c of image n. */
static void dot_channel(const cvy_cpu_depthwise_run *d, int64_t n, int64_t c,
                        const cvy_cpu_depthwise_slot *slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t nc = n * plan->p.c + c, outputs = plan->outputs, pixels = cvy_out_volume(&plan->p);
  const float *source = d->call->a + nc * cvy_in_volume(&plan->p);
  for (int64_t s = 0; s < plan->strips; s++) {
    const float *x = cvy_cpu_depthwise_strip(d, s, source, slot->x);
    cvy_prefetch prefetch[2] = {cvy_cpu_depthwise_prefetch_next(d, s, source)};
    for (int64_t i = 0; i < outputs; i++) {
      dot_rows(d, &d->parts[s], x, d->call->b + (nc * outputs + i) * pixels, slot->y,
               slot->w + i * cvy_filter_volume(&plan->p) * CVY_WIDEST_VECTOR, prefetch);
    }
  }
}

static void dot_channels(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = arg;
  const cvy_problem *p = &d->plan.p;
  const cvy_cpu_call *call = d->call;
  int64_t taps = d->plan.outputs * cvy_filter_volume(p);
  cvy_cpu_depthwise_slot memory = cvy_cpu_depthwise_clear(d, slot);
  for (int64_t c = begin; c < end; c++) {
    memset(memory.w, 0, (size_t)d->plan.w_floats * sizeof *memory.w);
    for (int64_t n = 0; n < p->n; n++, cvy_heartbeat_tick()) dot_channel(d, n, c, &memory);
    for (int64_t t = 0; t < taps; t++) {
      float *dw = call->out + c * taps + t;
      float sum = (float)call->simd->sum(memory.w + t * CVY_WIDEST_VECTOR, CVY_WIDEST_VECTOR);
      *dw = p->accumulate ? *dw + sum : sum;
    }
  }
}

/* ------------------------------------------------------------------------------------ row */

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t channels = problem->c / problem->groups, outputs = problem->k / problem->groups;
  int64_t most = problem->direction == CONVOY_BACKWARD_DATA ? CVY_CPU_DEPTHWISE_SUMMED
                                                            : CVY_CPU_DEPTHWISE_OUTPUTS;
  if (channels != 1 || outputs > most) {
    cvy_text_add(reason, "%lld input and %lld output channels per group, it is for 1 and 1 to %lld",
                 (long long)channels, (long long)outputs, (long long)most);
    return false;
  }
  cvy_cpu_depthwise_plan plan;
  cvy_cpu_depthwise_cut(problem, facts, &plan);
  return cvy_cpu_fits(cvy_cpu_depthwise_bytes(&plan), facts, reason);
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  cvy_cpu_depthwise_plan plan;
  cvy_cpu_depthwise_cut(problem, facts, &plan);
  (void)params;
  return cvy_cpu_depthwise_bytes(&plan);
}

static void run(const cvy_cpu_call *call) {
  cvy_cpu_depthwise_run d = {.call = call};
  const cvy_problem *p = &d.plan.p;
  cvy_cpu_depthwise_cut(call->problem, call->facts, &d.plan);
  if (!d.plan.sparse) cvy_cpu_depthwise_list(&d);
  bool weights = p->direction == CONVOY_BACKWARD_WEIGHTS, interleaved = d.plan.width > 1;
  int64_t blocks = cvy_div_up(p->c, d.plan.width);
  cvy_parallel_items(call->threads, weights ? blocks : p->n * blocks,
                     weights ? (interleaved ? cvy_cpu_depthwise_interleaved_dots : dot_channels)
                     : interleaved   ? cvy_cpu_depthwise_interleaved_sums
                     : d.plan.sparse ? add_channels
                                     : sum_channels,
                     &d);
}

const cvy_cpu_row cvy_cpu_depthwise = {
    {.name = "cpu.depthwise",
     .directions =
         1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA | 1u << CONVOY_BACKWARD_WEIGHTS,
     .accepts = accepts,
     .workspace = workspace},
    run};
