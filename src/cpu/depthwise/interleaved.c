/* cpu.depthwise where planes are small: a block of channels, as many as a vector is wide, is
 * interleaved into one plane of vectors, whose rows the stencils take like any others. */
#include <string.h>

#include "cpu/depthwise/depthwise.h"
#include "cpu/shared/epilogue.h"
#include "cpu/shared/sizes.h"
#include "problem/conv/conv.h"

typedef struct channel_block {
  int64_t first, count;   /* channels of the block */
  int64_t source, result; /* where the first of them begins in its image */
} channel_block;

/* There are as many channels out as in. */
static channel_block block_of(const cvy_cpu_depthwise_run *d, int64_t number, int64_t image) {
  const cvy_problem *p = &d->plan.p;
  bool data = p->operation == CONVOY_BACKWARD_DATA;
  int64_t first = number * d->plan.width;
  int64_t x = cvy_conv_place(p, CVY_X, image, first), y = cvy_conv_place(p, CVY_Y, image, first);
  return (channel_block){first, cvy_min(d->plan.width, p->conv.c - first), data ? y : x,
                         data ? x : y};
}

static void interleave_source(const cvy_cpu_depthwise_run *d, const channel_block *b, float *to) {
  const cvy_cpu_depthwise_axis *axis = d->plan.axis;
  int64_t volume = axis[1].source * axis[2].source;
  cvy_interleaving source = {
      .planes = b->count, .pitch = volume, .count = volume, .place = d->x_place};
  d->call->simd->interleave(&source, to, d->call->in[0] + b->source);
}

static cvy_interleaving results_of(const cvy_cpu_depthwise_run *d, const channel_block *b) {
  const cvy_cpu_depthwise_axis *axis = d->plan.axis;
  int64_t volume = axis[1].result * axis[2].result;
  return (cvy_interleaving){.planes = b->count,
                            .pitch = volume,
                            .count = volume,
                            .place = d->y_place,
                            .add = d->plan.p.accumulate};
}

/* ------------------------------------------------------------------- forward, backward_data */

static void interleave_weights(const cvy_cpu_depthwise_run *d, const channel_block *b, float *to) {
  int64_t taps = cvy_filter_volume(&d->plan.p), width = d->plan.width;
  const float *w = d->call->in[1] + b->first * taps;
  for (int64_t l = 0; l < b->count; l++, w += taps)
    for (int64_t t = 0; t < taps; t++) to[t * width + l] = w[d->order[t]];
}

static void sum_block(const cvy_cpu_depthwise_run *d, const channel_block *b,
                      const cvy_cpu_depthwise_slot *slot) {
  const cvy_cpu_depthwise_plan *plan = &d->plan;
  const cvy_cpu_call *call = d->call;
  int64_t width = plan->width;
  interleave_source(d, b, slot->x);
  for (int64_t q = 0; q < plan->phases; q++) {
    const cvy_cpu_depthwise_part *part = &d->parts[q];
    cvy_stencil stencil = cvy_cpu_depthwise_stencil(d, part, slot->x);
    call->simd->sums(&stencil, slot->w + part->taps * width, slot->y + part->to * width,
                     part->to_row * width);
  }
  cvy_interleaving results = results_of(d, b);
  float *out = call->out[0] + b->result;
  call->simd->deinterleave(&results, out, slot->y);
  for (int64_t l = 0; l < b->count; l++, out += results.pitch)
    cvy_cpu_epilogue(call, out, b->first + l, results.count);
}

void cvy_cpu_depthwise_sum_blocks(void *run, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = run;
  int64_t images = d->plan.p.conv.n;
  cvy_cpu_depthwise_slot memory = cvy_cpu_depthwise_clear(d, slot);
  memset(memory.w, 0, (size_t)d->plan.floats.w * sizeof *memory.w);
  for (int64_t i = begin; i < end; i++, cvy_heartbeat_tick()) {
    channel_block b = block_of(d, i / images, i % images);
    if (i == begin || i % images == 0) interleave_weights(d, &b, memory.w);
    sum_block(d, &b, &memory);
  }
}

/* ----------------------------------------------------------------------- backward_weights */

static void dot_block(const cvy_cpu_depthwise_run *d, const channel_block *b,
                      const cvy_cpu_depthwise_slot *slot) {
  const cvy_cpu_depthwise_part *part = &d->parts[0];
  cvy_interleaving dy = results_of(d, b);
  cvy_stencil stencil = cvy_cpu_depthwise_stencil(d, part, slot->x);
  interleave_source(d, b, slot->x);
  d->call->simd->interleave(&dy, slot->y, d->call->in[1] + b->result);
  d->call->simd->dots(&stencil, slot->y, part->to_row * d->plan.width,
                      slot->w + part->taps * CVY_WIDEST_VECTOR);
}

/* Every element of a vector has the sums of its own channel. */
static void put_sums(const cvy_cpu_depthwise_run *d, const channel_block *b, const float *sums) {
  int64_t taps = cvy_filter_volume(&d->plan.p);
  float *dw = d->call->out[0] + b->first * taps;
  bool add = d->plan.p.accumulate;
  for (int64_t l = 0; l < b->count; l++) {
    for (int64_t t = 0; t < taps; t++, dw++) {
      float sum = sums[t * CVY_WIDEST_VECTOR + l];
      *dw = add ? *dw + sum : sum;
    }
  }
}

void cvy_cpu_depthwise_dot_blocks(void *run, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_depthwise_run *d = run;
  cvy_cpu_depthwise_slot memory = cvy_cpu_depthwise_clear(d, slot);
  for (int64_t i = begin; i < end; i++) {
    memset(memory.w, 0, (size_t)d->plan.floats.w * sizeof *memory.w);
    for (int64_t n = 0; n < d->plan.p.conv.n; n++, cvy_heartbeat_tick()) {
      channel_block b = block_of(d, i, n);
      dot_block(d, &b, &memory);
    }
    channel_block whole = block_of(d, i, 0);
    put_sums(d, &whole, memory.w);
  }
}
