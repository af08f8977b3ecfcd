/* Packing filters for the microkernel: once per call, shared by all threads, or where they are
 * used. */
#include <string.h>

#include "cpu/implicit_gemm/maps.h"

/* How many rows of a tile are outputs. */
static int64_t rows_of(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t tile) {
  return cvy_min(plan->kernel->rows, plan->outputs - tile * plan->kernel->rows);
}

/* A tile's outputs are rows of w as it lies, all channels and taps in a row. */
static void pack_forward(const cvy_cpu_implicit_gemm_run *run,
                         const cvy_cpu_implicit_gemm_filters *f, float *to) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, floats = plan->channels * plan->taps;
  int64_t count = cvy_range_length(f->channels);
  for (int64_t i = f->tiles.begin; i < f->tiles.end; i++, to += f->pitch) {
    const float *from = run->call->in[1] + (f->group * plan->outputs + i * rows) * floats;
    run->call->simd->transpose(to, rows, from + f->channels.begin * plan->taps, floats,
                               rows_of(plan, i), count * plan->taps);
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

/* Outputs of one tile for one channel, which are neighbours in w but for their taps. */
static void pack_taps(const cvy_cpu_implicit_gemm_run *run, int64_t phase, int64_t count,
                      const float *from, float *to) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, all = plan->taps;
  if (plan->phases == 1) {
    run->call->simd->transpose(to, rows, from, all, count, all);
    return;
  }
  for (int64_t t = run->begin[phase]; t < run->begin[phase + 1]; t++, to += rows)
    pick(to, from + run->order[t], all, count);
}

/* Outputs are channels of w: all tiles of one, as they lie in memory, come before the next. */
static void pack_data(const cvy_cpu_implicit_gemm_run *run, const cvy_cpu_implicit_gemm_filters *f,
                      float *to) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, all = plan->taps;
  int64_t taps = run->begin[f->phase + 1] - run->begin[f->phase];
  const float *from =
      run->call->in[1] + (f->group * plan->channels + f->channels.begin) * plan->outputs * all;
  for (int64_t k = f->channels.begin; k < f->channels.end; k++) {
    for (int64_t i = f->tiles.begin; i < f->tiles.end; i++) {
      pack_taps(run, f->phase, rows_of(plan, i), from + i * rows * all,
                to + (i - f->tiles.begin) * f->pitch);
    }
    from += plan->outputs * all;
    to += taps * rows;
  }
}

void cvy_cpu_implicit_gemm_pack_some(const cvy_cpu_implicit_gemm_run *run,
                                     const cvy_cpu_implicit_gemm_filters *f, float *to) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, last = f->tiles.end - 1;
  int64_t taps = run->begin[f->phase + 1] - run->begin[f->phase];
  int64_t floats = (cvy_range_length(f->channels)) * taps * rows;
  if (rows_of(plan, last) < rows)
    memset(to + (last - f->tiles.begin) * f->pitch, 0, (size_t)floats * sizeof *to);
  if (plan->data)
    pack_data(run, f, to);
  else
    pack_forward(run, f, to);
}

typedef struct packing {
  const cvy_cpu_implicit_gemm_run *run;
  float *to;
} packing;

/* Tiles of all groups and phases are numbered one after another; those of one group go together. */
static void pack_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const packing *pack = arg;
  const cvy_cpu_implicit_gemm_run *run = pack->run;
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  int64_t rows = plan->kernel->rows, all = plan->p.conv.groups * plan->tiles.count, tiles;
  (void)slot;
  for (int64_t i = begin; i < end; i += tiles, cvy_heartbeat_tick()) {
    int64_t phase = i / all, tile = i % all, first = tile % plan->tiles.count;
    int64_t before = run->begin[phase], taps = run->begin[phase + 1] - before;
    int64_t pitch = taps * plan->channels * rows;
    float *to = pack->to + before * all * plan->channels * rows + tile * pitch;
    tiles = cvy_min(plan->tiles.count - first, end - i);
    cvy_cpu_implicit_gemm_pack_some(
        run,
        &(cvy_cpu_implicit_gemm_filters){.phase = phase,
                                         .group = tile / plan->tiles.count,
                                         .tiles = {first, first + tiles},
                                         .channels = {0, plan->channels},
                                         .pitch = pitch},
        to);
  }
}

void cvy_cpu_implicit_gemm_pack_filters(const cvy_cpu_implicit_gemm_run *run, float *to) {
  const cvy_cpu_implicit_gemm_maps_plan *plan = &run->plan;
  packing pack = {run, to};
  cvy_parallel_items(run->call->threads, plan->phases * plan->p.conv.groups * plan->tiles.count,
                     pack_tiles, &pack);
}
