/* Backward_weights of cpu.depthwise, channel by channel. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/sizes.h"
#include "problem/conv/conv.h"

/* Adds what the rows of dy in one strip give. Short rows get zeros up to a vector's end. */
static void dot_rows(const cvy_cpu_depthwise_run *d, const cvy_cpu_depthwise_part *part,
                     const float *x, const float *dy, float *side, float *sums,
                     cvy_prefetch *prefetch) {
  cvy_stencil stencil = cvy_cpu_depthwise_stencil(d, part, x);
  const float *y = dy + part->to;
  int64_t pitch = part->to_row;
  if (part->length < CVY_WIDEST_VECTOR) {
    d->call->simd->pad_rows(&(cvy_copy_rows){.to = side,
                                             .from = y,
                                             .to_pitch = CVY_WIDEST_VECTOR,
                                             .from_pitch = pitch,
                                             .rows = part->rows,
                                             .length = part->length});
    y = side;
    pitch = CVY_WIDEST_VECTOR;
    stencil.length = cvy_align_up(part->length, d->call->simd->microkernel.width);
  }
  int64_t count = part->rows * part->to_row;
  prefetch[1] =
      cvy_cpu_depthwise_prefetch(dy + part->to + count, count, cvy_cpu_depthwise_vectors(d), false);
  stencil.prefetch = prefetch;
  d->call->simd->dots(&stencil, y, pitch, sums + part->taps * CVY_WIDEST_VECTOR);
}

/* Adds what all outputs of channel c of image n give. */
static void dot_channel(const cvy_cpu_depthwise_run *d, int64_t n, int64_t c,
                        const cvy_cpu_depthwise_slot *slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  int64_t outputs = plan->outputs, pixels = cvy_out_volume(&plan->p);
  const float *source = d->call->in[0] + cvy_conv_place(&plan->p, CVY_X, n, c);
  const float *dy = d->call->in[1] + cvy_conv_place(&plan->p, CVY_Y, n, c * outputs);
  for (int64_t s = 0; s < plan->strip.count; s++) {
    const float *x = cvy_cpu_depthwise_strip(d, s, source, slot->x);
    cvy_prefetch prefetch[2] = {cvy_cpu_depthwise_prefetch_next(d, s, source)};
    for (int64_t i = 0; i < outputs; i++) {
      dot_rows(d, &d->parts[s], x, dy + i * pixels, slot->y,
               slot->w + i * cvy_filter_volume(&plan->p) * CVY_WIDEST_VECTOR, prefetch);
    }
  }
}

void cvy_cpu_depthwise_dot_channels(void *run, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = run;
  const cvy_problem *p = &d->plan.p;
  const cvy_cpu_call *call = d->call;
  int64_t taps = d->plan.outputs * cvy_filter_volume(p);
  cvy_cpu_depthwise_slot memory = cvy_cpu_depthwise_clear(d, slot);
  for (int64_t c = begin; c < end; c++) {
    memset(memory.w, 0, (size_t)d->plan.floats.w * sizeof *memory.w);
    for (int64_t n = 0; n < p->conv.n; n++, cvy_heartbeat_tick()) dot_channel(d, n, c, &memory);
    for (int64_t t = 0; t < taps; t++) {
      float *dw = call->out[0] + c * taps + t;
      float sum = (float)call->simd->sum(memory.w + t * CVY_WIDEST_VECTOR, CVY_WIDEST_VECTOR);
      *dw = p->accumulate ? *dw + sum : sum;
    }
  }
}
