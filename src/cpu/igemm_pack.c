/* Packing filters for the microkernel: once per call, shared by all threads. */
#include <string.h>

#include "cpu/igemm.h"
#include "cpu/span.h"

typedef struct packing {
  const cvy_igemm_plan *plan;
  const float *w;
  const int64_t *begin, *order;
  float *to;
} packing;

/* Where the filter of (output, channel) of a group begins, in the array as it lies. */
static const float *filter(const packing *pack, int64_t group, int64_t output, int64_t channel) {
  const cvy_igemm_plan *plan = pack->plan;
  int64_t k = plan->data ? channel : output, c = plan->data ? output : channel;
  int64_t outputs = plan->data ? plan->channels : plan->outputs;
  int64_t channels = plan->data ? plan->outputs : plan->channels;
  return pack->w + ((group * outputs + k) * channels + c) * plan->taps;
}

/* Channel by channel, so that the lines written stay in the L1 cache until they are full. */
static void pack_tile(const packing *pack, int64_t phase, int64_t group, int64_t first, float *to) {
  const cvy_igemm_plan *plan = pack->plan;
  const int64_t *order = pack->order + pack->begin[phase];
  int64_t rows = plan->ukr->rows, count = cvy_least(rows, plan->outputs - first);
  int64_t taps = pack->begin[phase + 1] - pack->begin[phase];
  for (int64_t c = 0; c < plan->channels; c++, to += taps * rows) {
    if (count < rows) memset(to, 0, (size_t)(taps * rows) * sizeof *to);
    for (int64_t r = 0; r < count; r++) {
      const float *from = filter(pack, group, first + r, c);
      for (int64_t t = 0; t < taps; t++) to[t * rows + r] = from[order[t]];
    }
  }
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
  packing pack = {plan, call->b, begin, order, to};
  cvy_parallel_items(call->threads, plan->phases * plan->p.groups * plan->tiles, pack_tiles, &pack);
}
