/* cpu.concatenate: threads share y, which is a sequence of pieces of the inputs. */
#include <string.h>

#include "cpu/row.h"
#include "cpu/shared/sizes.h"
#include "cpu/threads/heartbeat.h"
#include "problem/move/move.h"

enum { BLOCK = 16384 /* elements of y */ };

typedef struct concatenate_run {
  const cvy_cpu_call *call;
  const cvy_move_concatenate *p;
  int64_t width, results;
} concatenate_run;

/* y[i] = x[at + i] */
static void take_piece(const concatenate_run *run, int32_t input, int64_t at, int64_t count,
                       float *y) {
  const float *x = run->call->in[input];
  const int32_t *numbers = (const void *)x;
  const uint8_t *bytes = (const void *)x;
  int32_t dtype = run->p->dtype[input];
  if (dtype == CONVOY_FLOAT32)
    memcpy(y, x + at, (size_t)count * sizeof *y);
  else if (dtype == CONVOY_INT32)
    for (int64_t i = 0; i < count; i++) y[i] = (float)numbers[at + i];
  else
    for (int64_t i = 0; i < count; i++) y[i] = (float)bytes[at + i];
}

/* Elements [first, end) of y: from the input that has the first, at its place there, on. */
static void make_block(const concatenate_run *run, int64_t first, int64_t end) {
  const cvy_move_concatenate *p = run->p;
  int64_t image = first / run->width, at = first % run->width;
  int32_t input = 0;
  for (; at >= p->width[input]; input++) at -= p->width[input];
  while (first < end) {
    int64_t count = cvy_min(p->width[input] - at, end - first);
    take_piece(run, input, image * p->width[input] + at, count, run->call->out[0] + first);
    first += count;
    at = 0;
    if (++input < p->parts) continue;
    input = 0;
    image++;
  }
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const concatenate_run *run = arg;
  (void)slot;
  for (int64_t block = begin; block < end; block++, cvy_heartbeat_tick())
    make_block(run, block * BLOCK, cvy_min((block + 1) * BLOCK, run->results));
}

static void run_concatenate(const cvy_cpu_call *call) {
  const cvy_move_concatenate *p = &call->problem->move.concatenate;
  concatenate_run run = {call, p, cvy_move_concatenate_width(p), 0};
  run.results = p->images * run.width;
  cvy_parallel_for(call->threads, cvy_div_up(run.results, BLOCK), make_blocks, &run);
}

const cvy_cpu_row cvy_cpu_concatenate = {{.name = "cpu.concatenate",
                                          .operations = CVY_OPERATION_BIT(CVY_MOVE_CONCATENATE),
                                          .conservative = true},
                                         run_concatenate};
