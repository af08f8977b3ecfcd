/* Packing filters for the microkernel: once per call, shared by all threads. */
#include <string.h>

#include "cpu/igemm.h"
#include "cpu/span.h"

typedef struct packing {
  const cvy_igemm_plan *plan;
  const cvy_lanes *lanes;
  const float *w;
  const int64_t *begin, *order;
  float *to;
} packing;

/* A tile's outputs are rows of w as it lies, all channels and taps in a row. */
static void pack_forward(const packing *pack, int64_t group, int64_t first, int64_t count,
                         float *to) {
  const cvy_igemm_plan *plan = pack->plan;
  int64_t floats = plan->channels * plan->taps;
  pack->lanes->transpose(to, plan->ukr->rows, pack->w + (group * plan->outputs + first) * floats,
                         floats, count, floats);
}

/* A tile's outputs are channels of w: neighbours but for their taps. */
static void pack_data(const packing *pack, int64_t phase, int64_t group, int64_t first,
                      int64_t count, float *to) {
  const cvy_igemm_plan *plan = pack->plan;
  int64_t rows = plan->ukr->rows, all = plan->taps;
  const float *from = pack->w + (group * plan->channels * plan->outputs + first) * all;
  for (int64_t k = 0; k < plan->channels; k++, from += plan->outputs * all)
    for (int64_t t = pack->begin[phase]; t < pack->begin[phase + 1]; t++, to += rows)
      for (int64_t r = 0; r < count; r++) to[r] = from[r * all + pack->order[t]];
}

static void pack_tile(const packing *pack, int64_t phase, int64_t group, int64_t first, float *to) {
  const cvy_igemm_plan *plan = pack->plan;
  int64_t rows = plan->ukr->rows, count = cvy_least(rows, plan->outputs - first);
  int64_t taps = pack->begin[phase + 1] - pack->begin[phase];
  if (count < rows) memset(to, 0, (size_t)(plan->channels * taps * rows) * sizeof *to);
  if (plan->data)
    pack_data(pack, phase, group, first, count, to);
  else
    pack_forward(pack, group, first, count, to);
}

static void pack_tiles(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const packing *pack = arg;
  const cvy_igemm_plan *plan = pack->plan;
  int64_t rows = plan->ukr->rows, all = plan->p.groups * plan->tiles;
  (void)slot;
  for (int64_t i = begin; i < end; i++, cvy_beat_on()) {
    int64_t phase = i / all, tile = i % all;
    int64_t before = pack->begin[phase], taps = pack->begin[phase + 1] - before;
    pack_tile(pack, phase, tile / plan->tiles, tile % plan->tiles * rows,
              pack->to + (before * all + tile * taps) * plan->channels * rows);
  }
}

void cvy_igemm_pack(const cvy_igemm_plan *plan, const cvy_cpu_call *call, const int64_t *begin,
                    const int64_t *order, float *to) {
  packing pack = {plan, call->lanes, call->b, begin, order, to};
  cvy_parallel_items(call->threads, plan->phases * plan->p.groups * plan->tiles, pack_tiles, &pack);
}
