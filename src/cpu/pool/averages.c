/* Averages: sums of windows over their divisor, and the same backwards. */
#include <string.h>

#include "cpu/pool/pool.h"

typedef struct averages_run {
  const cvy_cpu_call *call;
  const float *from;
  float *to;
  int64_t first; /* window that `from` begins with, backward */
} averages_run;

static void add_to_windows(void *arg, const cvy_cpu_tap *tap) {
  const averages_run *run = arg;
  run->call->simd->axpy(run->to + tap->windows.begin, 1, run->from + tap->first, tap->step, 1.0f,
                        cvy_range_length(tap->windows));
}

/* What the windows of a row have in common of their divisor. */
static int64_t counted_across(const cvy_pooling_problem *p, const cvy_cpu_windows *windows) {
  return cvy_pooling_counted(p, 0, windows->oz) * cvy_pooling_counted(p, 1, windows->oh);
}

void cvy_cpu_average_pool(const cvy_cpu_call *call, const cvy_cpu_windows *windows, const float *x,
                          float *y) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  averages_run run = {call, x, y, 0};
  cvy_range all = windows->columns;
  int64_t across = counted_across(p, windows);
  memset(y + all.begin, 0, (size_t)cvy_range_length(all) * sizeof *y);
  cvy_cpu_pool_taps(p, windows, add_to_windows, &run);
  for (int64_t i = all.begin; i < all.end; i++)
    y[i] /= (float)(across * cvy_pooling_counted(p, 2, i));
}

static void add_to_elements(void *arg, const cvy_cpu_tap *tap) {
  const averages_run *run = arg;
  run->call->simd->axpy(run->to + tap->first, tap->step,
                        run->from + tap->windows.begin - run->first, 1, 1.0f,
                        cvy_range_length(tap->windows));
}

void cvy_cpu_average_pool_backward(const cvy_cpu_call *call, const cvy_cpu_windows *windows,
                                   const float *dy, float *dx, float *memory) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  averages_run run = {call, memory, dx, windows->columns.begin};
  int64_t across = counted_across(p, windows);
  dy += (windows->oz * p->out[1] + windows->oh) * p->out[2];
  for (int64_t i = windows->columns.begin; i < windows->columns.end; i++)
    memory[i - run.first] = dy[i] / (float)(across * cvy_pooling_counted(p, 2, i));
  cvy_cpu_pool_taps(p, windows, add_to_elements, &run);
}
