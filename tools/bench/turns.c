#include "bench/turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/step_check.h"
#include "common/clock.h"
#include "common/interrupt.h"

enum { SAMPLES_MOST = 256, RUNS_MOST = 64, ROW_MOST = 256 };

typedef struct turn {
  device *where;
  bench_step step;
  bench_result *line;
  bool made, done;
  int runs; /* of a sample */
  int count;
  double sample[SAMPLES_MOST], fed[SAMPLES_MOST]; /* seconds of a step */
  double spent;
  int64_t memory; /* of the device, while steps are under way */
} turn;

/* --------------------------------------------------------------------------------------- its line
 */

static bench_result new_line(const bench_net *net, const device *where) {
  bench_result line = bench_result_new();
  snprintf(line.table, sizeof line.table, "net");
  snprintf(line.pass, sizeof line.pass, "step");
  bench_net_text(net, line.shape, sizeof line.shape);
  bench_net_text(net, line.problem, sizeof line.problem);
  snprintf(line.device, sizeof line.device, "%s", where->label);
  snprintf(line.device_name, sizeof line.device_name, "%s", where->info.name);
  snprintf(line.driver, sizeof line.driver, "%s", where->info.driver);
  snprintf(line.requested, sizeof line.requested, "auto");
  snprintf(line.algorithm, sizeof line.algorithm, "graph");
  line.count = 1;
  return line;
}

static void end_badly(turn *one, const char *status, const char *reason) {
  snprintf(one->line->status, sizeof one->line->status, "%s", status);
  snprintf(one->line->reason, sizeof one->line->reason, "%s", reason);
  one->done = true;
}

/* What fails ends the device's turns. */
static bool went_well(turn *one, convoy_status status) {
  if (!status) return true;
  end_badly(one, "error", convoy_last_error());
  if (one->made) bench_step_free(&one->step);
  one->made = false;
  if (status == CONVOY_ERR_DEVICE) device_reopen(one->where);
  return false;
}

/* ------------------------------------------------------------------------------- the first steps
 */

static void note_plan(const bench_step *step, bench_result *line) {
  const convoy_graph_plan *plan = &step->plan;
  line->operations = plan->operations;
  line->flops = plan->flops;
  line->bytes = plan->bytes;
  line->memory_bytes = plan->read_bytes + plan->written_bytes + plan->internal_bytes;
  line->capture_ms = 1e3 * step->capture_seconds;
}

static void judge(turn *one, const step_verdict *worst) {
  char why[256];
  one->line->error = worst->distance;
  one->line->error_share = worst->share;
  if (worst->share <= 1.0) return;
  snprintf(why, sizeof why, "%.120s is %.2g from the CPU engine's, at most %g is right", worst->of,
           worst->distance, worst->bound);
  end_badly(one, "wrong", why);
}

static convoy_status check(turn *one, const step_reference *wanted) {
  step_verdict worst;
  double start = seconds_now();
  convoy_status status = bench_step_run(&one->step);
  if (!status) status = convoy_sync(one->where->context);
  one->line->first_ms = 1e3 * (seconds_now() - start);
  if (!status) status = step_compare(wanted, &one->step, &worst);
  if (!status) judge(one, &worst);
  return status;
}

/* Seconds of a step when several follow one another. */
static convoy_status measure(turn *one, const bench_net *fed, int runs, double *seconds) {
  convoy_health health = {.struct_size = sizeof health};
  convoy_status status = CONVOY_OK;
  float loss;
  double start = seconds_now();
  for (int i = 0; i < runs && !status; i++) {
    if (fed) status = bench_step_feed(fed, &one->step);
    if (!status) status = bench_step_run(&one->step);
  }
  if (!status) status = convoy_get_health(one->where->context, &health);
  if (!status) status = convoy_sync(one->where->context);
  if (!status && fed) status = convoy_tensor_read(one->step.step.loss, &loss, 1);
  *seconds = (seconds_now() - start) / runs;
  if (!status && health.device_bytes > one->memory) one->memory = health.device_bytes;
  return status;
}

/* The step that is timed has been run twice. */
static convoy_status warm_up(turn *one, const timing *enough) {
  double seconds;
  convoy_status status = measure(one, NULL, 1, &seconds);
  double wanted = 1.2 * enough->min_time / fmax(seconds, 1e-9) + 1.0;
  one->runs = wanted < RUNS_MOST ? (int)wanted : RUNS_MOST;
  return status;
}

static void begin(turn *one, bench_net *net, const step_reference *wanted, const timing *enough) {
  if (!one->where->context) {
    end_badly(one, "error", "the device was lost before");
    return;
  }
  interrupt_reaches(one->where->context);
  convoy_status status = convoy_set_algorithm(one->where->context, NULL);
  if (!status) status = bench_step_make(net, one->where->context, &one->step);
  one->made = !status;
  if (!status) note_plan(&one->step, one->line);
  if (!status) status = check(one, wanted);
  if (!status && !one->done) status = warm_up(one, enough);
  went_well(one, status);
  interrupt_reaches(NULL);
}

/* ---------------------------------------------------------------------------------------- timing
 */

static void take_turn(turn *one, const bench_net *net, const timing *enough) {
  double start = seconds_now();
  interrupt_reaches(one->where->context);
  convoy_status status = measure(one, NULL, one->runs, &one->sample[one->count]);
  if (!status) status = measure(one, net, one->runs, &one->fed[one->count]);
  interrupt_reaches(NULL);
  if (!went_well(one, status)) return;
  one->count++;
  one->spent += seconds_now() - start;
  bool suffices = one->count >= enough->samples && one->spent >= enough->total_time;
  one->done = suffices || one->count == SAMPLES_MOST || one->spent >= enough->budget;
}

/* Every so often the host gets what the next run reads, which single steps do not show. */
static void run_a_row(turn *one, const timing *enough) {
  double wanted = fmax(1, enough->budget / stats_of(one->sample, one->count).median), seconds;
  interrupt_reaches(one->where->context);
  convoy_status status = measure(one, NULL, (int)fmin(wanted, ROW_MOST), &seconds);
  interrupt_reaches(NULL);
  if (went_well(one, status)) one->line->mean_ms = 1e3 * seconds;
}

static void conclude(const turn *one, int64_t images, training_length length) {
  bench_result *line = one->line;
  stats resident = stats_of(one->sample, one->count), fed = stats_of(one->fed, one->count);
  double seconds = resident.median;
  line->samples = one->count;
  line->batch = one->runs;
  line->min_ms = 1e3 * resident.min;
  line->median_ms = 1e3 * seconds;
  line->max_ms = 1e3 * resident.max;
  line->spread = resident.spread;
  line->transfers_ms = 1e3 * fed.median;
  if (one->memory > 0) line->memory_bytes = one->memory;
  line->gflops = 1e-9 * line->flops / seconds;
  line->flops_share = line->gflops / one->where->gflops;
  line->copy_share = 1e-9 * line->bytes / seconds / one->where->gigabytes;
  line->images_per_second = (double)images / fed.median;
  double all = (double)length.images * length.epochs;
  if (length.images) line->days = all / line->images_per_second / 86400.0;
  snprintf(line->status, sizeof line->status, "ok");
}

/* ------------------------------------------------------------------------------------------- all
 */

static bool make_reference(bench_net *net, convoy_context *cpu, step_reference *out) {
  bench_step step;
  interrupt_reaches(cpu);
  convoy_status status = bench_step_make(net, cpu, &step);
  if (!status) {
    status = bench_step_run(&step);
    if (!status) status = step_reference_make(&step, out);
    bench_step_free(&step);
  }
  interrupt_reaches(NULL);
  return !status;
}

static bool all_done(const turn *turns, int count) {
  for (int i = 0; i < count; i++)
    if (!turns[i].done) return false;
  return true;
}

static void go_round(turn *turns, int count, const bench_net *net, const timing *enough) {
  while (!all_done(turns, count) && !interrupted())
    for (int i = 0; i < count && !interrupted(); i++)
      if (!turns[i].done) take_turn(&turns[i], net, enough);
}

bool bench_turns(bench_net *net, device_list *devices, convoy_context *cpu, const timing *enough,
                 training_length length, bench_result lines[DEVICES_MOST]) {
  step_reference wanted;
  turn *turns = calloc(DEVICES_MOST, sizeof *turns);
  bool good = turns && make_reference(net, cpu, &wanted);
  for (int d = 0; d < devices->count && good; d++) {
    lines[d] = new_line(net, &devices->item[d]);
    turns[d].where = &devices->item[d];
    turns[d].line = &lines[d];
    if (!interrupted()) begin(&turns[d], net, &wanted, enough);
  }
  if (good) go_round(turns, devices->count, net, enough);
  for (int d = 0; d < devices->count && good; d++) {
    if (turns[d].count > 0 && !lines[d].status[0] && !interrupted()) run_a_row(&turns[d], enough);
    if (turns[d].count > 0 && !lines[d].status[0]) conclude(&turns[d], net->sizes.batch, length);
    if (!lines[d].status[0]) end_badly(&turns[d], "error", interrupt_text());
    if (turns[d].made) bench_step_free(&turns[d].step);
  }
  if (good) step_reference_free(&wanted);
  free(turns);
  return good;
}
