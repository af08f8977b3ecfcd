/* Makes one line of the bench: plans, checks, warms up and times. */
#include "bench/line.h"

#include <stdio.h>
#include <string.h>

#include "common/interrupt.h"

static bench_result new_result(const device *where, const char *algorithm) {
  bench_result out = bench_result_new();
  snprintf(out.device, sizeof out.device, "%s", where->label);
  snprintf(out.device_name, sizeof out.device_name, "%s", where->info.name);
  snprintf(out.driver, sizeof out.driver, "%s", where->info.driver);
  snprintf(out.requested, sizeof out.requested, "%s", algorithm ? algorithm : "auto");
  snprintf(out.algorithm, sizeof out.algorithm, "%s", algorithm ? algorithm : "");
  return out;
}

static bench_result start_result(const bench_case *what, const device *where,
                                 const char *algorithm) {
  bench_result out = new_result(where, algorithm);
  const problem *shape = &what->shape;
  snprintf(out.table, sizeof out.table, "%s", what->table);
  snprintf(out.shape, sizeof out.shape, "%s", what->from->name);
  snprintf(out.pass, sizeof out.pass, "%s", direction_roles[shape->direction].name);
  convoy_format_problem(&shape->conv, shape->x_shape, shape->w_shape, shape->direction, out.problem,
                        sizeof out.problem);
  out.count = what->from->count;
  out.flops = problem_flops(shape);
  out.bytes = problem_bytes(shape);
  return out;
}

static void set_status(bench_result *line, const char *status, const char *reason) {
  snprintf(line->status, sizeof line->status, "%s", status);
  snprintf(line->reason, sizeof line->reason, "%s", reason);
}

/* Refusals are no failures; they are asked for before anything is sent to the device. */
static bool accepted(const bench_case *what, convoy_context *context, const char *algorithm,
                     convoy_plan *plan, bench_result *line) {
  const problem *shape = &what->shape;
  convoy_status status = convoy_plan_problem(context, algorithm, &shape->conv, shape->direction,
                                             shape->x_shape, shape->w_shape, plan);
  if (status != CONVOY_OK) {
    set_status(line, "error", convoy_last_error());
    return false;
  }
  if (!plan->accepted) set_status(line, "refused", plan->reason);
  return plan->accepted != 0;
}

static void judge(const bench_case *what, const convoy_plan *plan, bench_result *line) {
  verdict result;
  if (!reference_compare_promised(&what->shape, &what->data, what->exact, plan, &result)) {
    set_status(line, "error", "out of memory");
    return;
  }
  line->error = result.error;
  line->error_share = result.share;
  if (verdict_good(&result)) return;
  char why[256];
  snprintf(
      why, sizeof why,
      "%lld of %lld sampled elements beyond the bound, %lld not finite; [%lld] = %.9g, not %.9g",
      (long long)result.wrong, (long long)what->exact->count, (long long)result.not_finite,
      (long long)result.index, result.got, result.expected);
  set_status(line, "wrong", why);
}

static const char *asked_for(const bench_result *line) {
  return strcmp(line->requested, "auto") == 0 ? NULL : line->requested;
}

static void note_run(const convoy_run *run, bench_result *line) {
  snprintf(line->algorithm, sizeof line->algorithm, "%s", run->algorithm);
  snprintf(line->parameters, sizeof line->parameters, "%s", run->parameters);
  line->workspace_bytes = run->workspace_bytes;
}

/* The first run, which also builds programs and touches memory. */
static convoy_status check(bench_case *what, subject *on, const convoy_plan *plan,
                           bench_result *line) {
  convoy_run run = CONVOY_RUN_INIT;
  convoy_status status = call_tensors(on->context, on->about, on->resident, &run);
  if (status != CONVOY_OK) return status;
  note_run(&run, line);
  operands_poison(&what->data);
  status = convoy_tensor_read(on->resident->out, what->data.out, what->data.out_count);
  if (status != CONVOY_OK) return status;
  char why[256];
  if (call_as_asked(&run, on->device, asked_for(line), why, sizeof why))
    judge(what, plan, line);
  else
    set_status(line, "error", why);
  return CONVOY_OK;
}

static convoy_status time_line(const subject *on, const timing *enough, bench_result *line) {
  stats resident, host;
  convoy_status status = measure_resident(on, enough, &resident, &line->batch);
  if (status != CONVOY_OK) return status;
  line->samples = resident.count;
  line->min_ms = 1e3 * resident.min;
  line->median_ms = 1e3 * resident.median;
  line->max_ms = 1e3 * resident.max;
  line->spread = resident.spread;
  status = measure_host(on, enough, &host);
  line->transfers_ms = 1e3 * host.median;
  return status;
}

static void derive(const device *where, bench_result *line) {
  double seconds = 1e-3 * line->median_ms;
  line->gflops = 1e-9 * line->flops / seconds;
  line->flops_share = line->gflops / where->gflops;
  line->copy_share = 1e-9 * line->bytes / seconds / where->gigabytes;
}

static convoy_status check_and_time(bench_case *what, const device *where, const convoy_plan *plan,
                                    const timing *enough, bench_result *line) {
  tensors resident;
  convoy_status status = tensors_make(where->context, &what->shape, &what->data, &resident);
  if (status != CONVOY_OK) return status;
  subject on = {.context = where->context,
                .device = where->info.id,
                .about = &what->shape,
                .data = &what->data,
                .resident = &resident};
  status = check(what, &on, plan, line);
  if (status == CONVOY_OK && !line->status[0]) {
    status = time_line(&on, enough, line);
    derive(where, line);
    if (status == CONVOY_OK) set_status(line, "ok", "");
  }
  tensors_free(&resident);
  return status;
}

bench_result bench_line(const bench_case *what, device *where, const char *algorithm,
                        const timing *enough) {
  bench_result line = start_result(what, where, algorithm);
  if (!where->context) {
    set_status(&line, "error", "the device was lost before");
    return line;
  }
  convoy_plan plan = {.struct_size = sizeof plan};
  convoy_status status = convoy_set_algorithm(where->context, algorithm);
  if (status == CONVOY_OK && !accepted(what, where->context, algorithm, &plan, &line)) return line;
  bench_case own = *what;
  interrupt_reaches(where->context);
  if (status == CONVOY_OK) status = check_and_time(&own, where, &plan, enough, &line);
  interrupt_reaches(NULL);
  if (status != CONVOY_OK) set_status(&line, "error", convoy_last_error());
  if (status == CONVOY_ERR_DEVICE) device_reopen(where);
  return line;
}

/* --------------------------------------------------------------------------------- programs */

/* By the reference: what it looks at takes it a second or so, more of a sum over more. */
enum { EVALUATED = 200000 };

static void set_wrong(bench_result *line, const verdict *result, const char *against) {
  char why[256];
  snprintf(why, sizeof why, "%lld elements are not %s; [%lld] = %.9g, not %.9g",
           (long long)result->wrong, against, (long long)result->index, result->got,
           result->expected);
  if (!line->status[0]) set_status(line, "wrong", why);
}

/* Programs that draw random numbers have no reference but the CPU engine. */
static void judge_operation(const operation *what, bench_result *line) {
  verdict result = operation_compare_exactly(what);
  line->error = result.error;
  if (result.wrong) set_wrong(line, &result, "the CPU engine's");
  if (!operation_compare_reference(what, EVALUATED, &result)) return;
  line->error = result.error;
  line->error_share = result.share;
  if (result.wrong) set_wrong(line, &result, "the reference's within rounding");
}

static convoy_status check_operation(const subject *on, bench_result *line) {
  convoy_run run = CONVOY_RUN_INIT;
  convoy_status status = convoy_seed(on->context, 0);
  if (status == CONVOY_OK) status = operation_apply(on->context, on->program, on->operand, &run);
  if (status != CONVOY_OK) return status;
  note_run(&run, line);
  status = operation_fetch(on->program, on->operand);
  if (status != CONVOY_OK) return status;
  char why[256];
  if (call_as_asked(&run, on->device, asked_for(line), why, sizeof why))
    judge_operation(on->program, line);
  else
    set_status(line, "error", why);
  return CONVOY_OK;
}

static convoy_status check_and_time_operation(operation *what, const device *where,
                                              const timing *enough, bench_result *line) {
  convoy_tensor *resident[CONVOY_MAX_OPERANDS];
  convoy_status status = operation_tensors(where->context, what, resident);
  if (status != CONVOY_OK) return status;
  subject on = {
      .context = where->context, .device = where->info.id, .program = what, .operand = resident};
  status = check_operation(&on, line);
  if (status == CONVOY_OK && !line->status[0]) {
    status = time_line(&on, enough, line);
    if (line->flops > 0)
      derive(where, line);
    else
      line->copy_share = 1e-6 * line->bytes / line->median_ms / where->gigabytes;
    if (status == CONVOY_OK) set_status(line, "ok", "");
  }
  operation_drop(what, resident);
  return status;
}

bench_result bench_operation_line(const bench_operation *what, device *where, const char *algorithm,
                                  const timing *enough) {
  bench_result line = new_result(where, algorithm);
  snprintf(line.table, sizeof line.table, "op");
  snprintf(line.shape, sizeof line.shape, "%s", what->what->text);
  snprintf(line.pass, sizeof line.pass, "%s", what->is_gradient ? "gradient" : "op");
  snprintf(line.problem, sizeof line.problem, "%s", what->what->body);
  line.count = 1;
  line.flops = operation_flops(what->what);
  line.bytes = operation_bytes(what->what);
  if (!where->context) {
    set_status(&line, "error", "the device was lost before");
    return line;
  }
  interrupt_reaches(where->context);
  convoy_status status = convoy_set_algorithm(where->context, algorithm);
  if (status == CONVOY_OK) status = check_and_time_operation(what->what, where, enough, &line);
  interrupt_reaches(NULL);
  if (status != CONVOY_OK)
    set_status(&line, status == CONVOY_ERR_UNSUPPORTED ? "refused" : "error", convoy_last_error());
  if (status == CONVOY_ERR_DEVICE) device_reopen(where);
  return line;
}
