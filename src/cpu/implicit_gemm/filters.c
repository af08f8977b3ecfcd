/* Packing filters for the microkernel: once per call, shared by all threads, or where they are
 * used. */
#include <string.h>

#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/range.h"

typedef struct packing {
  const cvy_cpu_implicit_gemm_plan *plan;
  const cvy_simd *simd;
  const float *w;
  const int64_t *begin, *order;
  float *to;
} packing;

/* How many rows of a tile are outputs. */
static int64_t rows_of(const cvy_cpu_implicit_gemm_plan *plan, int64_t tile) {
  return cvy_min(plan->kernel->rows, plan->outputs - tile * plan->kernel->rows);
}

/* A tile's outputs are rows of w as it lies, all channels and taps in a row. */
static void pack_forward(const packing *pack, const cvy_cpu_implicit_gemm_filters *f) {
  const cvy_cpu_implicit_gemm_plan *plan = pack->plan;
  int64_t rows = plan->kernel->rows, floats = plan->channels * plan->taps;
  for (int64_t i = f->tile; i < f->tile + f->tiles; i++) {
    pack->simd->transpose(
        pack->to + (i - f->tile) * f->pitch, rows,
        pack->w + (f->group * plan->outputs + i * rows) * floats + f->first * plan->taps, floats,
        rows_of(plan, i), f->count * plan->taps);
  }
}

/* to[i] = from[i step], four loads at a time. */
static inline void pick(float *restrict to, const float *restrict from, int64_t step,
                        int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4, from += 4 * step) {
    float a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
    to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
  }
  for (; i < count; i++, from += step) to[i] = *from;
}

/* Outputs of one tile for one channel: neighbours but for their taps. */
static void pack_taps(const packing *pack, int64_t phase, int64_t count, const float *from,
                      float *to) {
  const cvy_cpu_implicit_gemm_plan *plan = pack->plan;
  int64_t rows = plan->kernel->rows, all = plan->taps;
  if (plan->phases == 1) {
    pack->simd->transpose(to, rows, from, all, count, all);
    return;
  }
  for (int64_t t = pack->begin[phase]; t < pack->begin[phase + 1]; t++, to += rows)
    pick(to, from + pack->order[t], all, count);
}

/* Outputs are channels of w: all tiles of one, as they lie in memory, before the next. */
static void pack_data(const packing *pack, const cvy_cpu_implicit_gemm_filters *f) {
  const cvy_cpu_implicit_gemm_plan *plan = pack->plan;
  int64_t rows = plan->kernel->rows, all = plan->taps;
  int64_t taps = pack->begin[f->phase + 1] - pack->begin[f->phase];
  const float *from = pack->w + (f->group * plan->channels + f->first) * plan->outputs * all;
  for (int64_t k = 0; k < f->count; k++, from += plan->outputs * all) {
    for (int64_t i = f->tile; i < f->tile + f->tiles; i++) {
      pack_taps(pack, f->phase, rows_of(plan, i), from + i * rows * all,
                pack->to + (i - f->tile) * f->pitch + k * taps * rows);
    }
  }
}

static void pack_some(const packing *pack, const cvy_cpu_implicit_gemm_filters *f) {
  const cvy_cpu_implicit_gemm_plan *plan = pack->plan;
  int64_t rows = plan->kernel->rows, taps = pack->begin[f->phase + 1] - pack->begin[f->phase];
  int64_t last = f->tiles - 1;
  if (rows_of(plan, f->tile + last) < rows)
    memset(pack->to + last * f->pitch, 0, (size_t)(f->count * taps * rows) * sizeof *pack->to);
  if (plan->data)
    pack_data(pack, f);
  else
    pack_forward(pack, f);
}

void cvy_cpu_implicit_gemm_pack_some(const cvy_cpu_implicit_gemm_run *run,
                                     const cvy_cpu_implicit_gemm_filters *filters, float *to) {
  packing pack = {&run->plan, run->call->simd, run->call->b, run->begin, run->order, to};
  pack_some(&pack, filters);
}

/* Tiles of all groups and phases are numbered one after another; those of one group go together. */
static void pack_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  packing pack = *(const packing *)arg;
  const cvy_cpu_implicit_gemm_plan *plan = pack.plan;
  int64_t rows = plan->kernel->rows, all = plan->p.groups * plan->tiles, tiles;
  float *to = pack.to;
  (void)slot;
  for (int64_t i = begin; i < end; i += tiles, cvy_heartbeat_tick()) {
    int64_t phase = i / all, tile = i % all, first = tile % plan->tiles;
    int64_t before = pack.begin[phase], taps = pack.begin[phase + 1] - before;
    int64_t pitch = taps * plan->channels * rows;
    tiles = cvy_min(plan->tiles - first, end - i);
    pack.to = to + before * all * plan->channels * rows + tile * pitch;
    pack_some(&pack, &(cvy_cpu_implicit_gemm_filters){.phase = phase,
                                                      .group = tile / plan->tiles,
                                                      .tile = first,
                                                      .tiles = tiles,
                                                      .count = plan->channels,
                                                      .pitch = pitch});
  }
}

void cvy_cpu_implicit_gemm_pack_filters(const cvy_cpu_implicit_gemm_plan *plan,
                                        const cvy_cpu_call *call, const int64_t *begin,
                                        const int64_t *order, float *to) {
  packing pack = {plan, call->simd, call->b, begin, order, to};
  cvy_parallel_items(call->threads, plan->phases * plan->p.groups * plan->tiles, pack_tiles, &pack);
}
