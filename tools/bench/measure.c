/* Takes samples until time and count suffice. */
#include "bench/measure.h"

#include "common/clock.h"
#include "common/interrupt.h"

enum { SAMPLES_MOST = 1000, BATCH_MOST = 256 };

typedef convoy_status batch_fn(const subject *what, int64_t batch);

static convoy_status run_once(const subject *what) {
  if (what->program) return operation_apply(what->context, what->program, what->operand, NULL);
  return call_tensors(what->context, what->about, what->resident, NULL);
}

/* Programs have no calls on host memory: their tensors are written and read. */
static convoy_status run_once_from_host(const subject *what) {
  if (!what->program) return call_host(what->context, what->about, what->data, 0.0f, NULL, NULL);
  convoy_status status = operation_give(what->program, what->operand);
  if (status == CONVOY_OK) status = run_once(what);
  return status == CONVOY_OK ? operation_fetch(what->program, what->operand) : status;
}

static convoy_status run_resident(const subject *what, int64_t batch) {
  for (int64_t i = 0; i < batch; i++) {
    convoy_status status = run_once(what);
    if (status != CONVOY_OK) return status;
  }
  return convoy_sync(what->context);
}

static convoy_status run_host(const subject *what, int64_t batch) {
  for (int64_t i = 0; i < batch; i++) {
    convoy_status status = run_once_from_host(what);
    if (status != CONVOY_OK) return status;
  }
  return CONVOY_OK;
}

static convoy_status timed(batch_fn *run, const subject *what, int64_t batch, double *seconds) {
  double start = seconds_now();
  convoy_status status = run(what, batch);
  *seconds = seconds_now() - start;
  return status;
}

/* Returns how many operations a sample needs to take min_time, and a fifth more to be sure. */
static int64_t batch_for(double seconds, double min_time) {
  double wanted = seconds > 0.0 ? 1.2 * min_time / seconds + 1.0 : (double)BATCH_MOST;
  return wanted < (double)BATCH_MOST ? (int64_t)wanted : BATCH_MOST;
}

/* Grows the batch until a sample is long enough, and the next one too: a single one may be long by
 * chance, when one of its results was verified. That next one counts. */
static convoy_status find_batch(batch_fn *run, const subject *what, double min_time, int64_t *batch,
                                double *seconds) {
  bool was_long = !(min_time > 0.0);
  *batch = 1;
  for (;;) {
    convoy_status status = timed(run, what, *batch, seconds);
    bool is_long = *seconds >= min_time;
    if (status != CONVOY_OK || (is_long && was_long) || *batch == BATCH_MOST) return status;
    was_long = is_long;
    if (is_long) continue;
    int64_t better = batch_for(*seconds / (double)*batch, min_time);
    *batch = better > *batch ? better : *batch + 1;
  }
}

static convoy_status collect(batch_fn *run, const subject *what, const timing *enough, stats *out,
                             int64_t *batch) {
  double sample[SAMPLES_MOST], seconds = 0.0, total = 0.0;
  int count = 0;
  double start = seconds_now();
  convoy_status status = find_batch(run, what, enough->min_time, batch, &seconds);
  while (status == CONVOY_OK) {
    sample[count++] = seconds / (double)*batch;
    total += seconds;
    bool suffices = count >= enough->samples && total >= enough->total_time;
    if (interrupted()) return CONVOY_ERR_INTERRUPTED;
    if (suffices || count == SAMPLES_MOST || seconds_now() - start >= enough->budget) break;
    status = timed(run, what, *batch, &seconds);
  }
  *out = stats_of(sample, count);
  return status;
}

convoy_status measure_resident(const subject *what, const timing *enough, stats *out,
                               int64_t *batch) {
  return collect(run_resident, what, enough, out, batch);
}

convoy_status measure_host(const subject *what, const timing *enough, stats *out) {
  timing single = *enough;
  single.min_time = 0.0;
  int64_t batch = 1;
  return collect(run_host, what, &single, out, &batch);
}
