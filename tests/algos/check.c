/* See check.h. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compare.h"
#include "common/random.h"

typedef struct complaint {
  char *text;
  size_t size;
} complaint;

__attribute__((format(printf, 2, 3))) static outcome fail(complaint *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(to->text, to->size, format, args);
  va_end(args);
  return FAILED;
}

static test_array make_output(const workload *work, const operation *op) {
  const int64_t count = work->count[op->direction];
  test_array out = test_array_new(count);
  if (op->beta)
    memcpy(out.values, work->before[op->direction].values, (size_t)count * sizeof(float));
  else
    test_fill_nan(out.values, count);
  test_array_seal(&out);
  return out;
}

static outcome check_refusal(const convoy_plan *plan, const test_array *out, complaint *to) {
  if (plan->accepted) return fail(to, "refused, but the plan accepts: %s", convoy_last_error());
  if (plan->reason[0] == '\0') return fail(to, "refused without a reason");
  if (strstr(convoy_last_error(), plan->reason) == NULL)
    return fail(to, "the sentence '%s' lacks the reason '%s'", convoy_last_error(), plan->reason);
  if (!test_array_unchanged(out)) return fail(to, "refused, but the output was written");
  return REFUSED;
}

static outcome check_run(const subject *s, const convoy_plan *plan, const convoy_run *run,
                         complaint *to) {
  if (!plan->accepted) return fail(to, "ran, but the plan refuses: %s", plan->reason);
  if (strcmp(run->algorithm, s->algorithm) != 0) return fail(to, "'%s' ran", run->algorithm);
  if (strcmp(run->device, s->device->id) != 0) return fail(to, "ran on '%s'", run->device);
  if (run->attempts != 1 || run->first_fault != CONVOY_OK)
    return fail(to, "%d attempts, first fault %s: %s", run->attempts,
                convoy_status_name((convoy_status)run->first_fault), run->fault);
  if (run->workspace_bytes != plan->workspace_bytes)
    return fail(to, "workspace %lld, planned %lld", (long long)run->workspace_bytes,
                (long long)plan->workspace_bytes);
  return RAN;
}

/* Small integers are exact, except where a row mixes neighbours; both then keep the row's bound, which
 * contains the common one and takes long to compute. */
static test_difference compare(const workload *work, const operation *op, const convoy_plan *plan,
                               const test_array *out, const ref_value *expected) {
  const bool exact = work->kind == DATA_INTEGERS && plan->error_growth == 0;
  const test_difference common =
      test_compare(out->values, expected, out->count, exact ? TEST_EXACT : TEST_ROUNDED);
  if (common.bad > 0 && plan->error_growth > 0) {
    ref_value *wide = workload_widened(work, op, expected, plan->error_growth, plan->error_reach);
    const test_difference d = test_compare(out->values, wide, out->count, TEST_ROUNDED);
    free(wide);
    return d;
  }
  return common;
}

static outcome check_memory(const workload *work, const test_array *out, complaint *to) {
  if (!test_array_intact(out)) return fail(to, "written beside the output");
  if (!workload_inputs_unchanged(work)) return fail(to, "an input was written");
  return RAN;
}

static outcome check_values(const workload *work, const operation *op, const convoy_plan *plan,
                            const test_array *out, const ref_value *expected, complaint *to) {
  const test_difference d = compare(work, op, plan, out, expected);
  if (d.bad == 0) return RAN;
  test_describe(&d, out->count, to->text, to->size);
  return FAILED;
}

static outcome check_bits(const test_array *first, const test_array *second, complaint *to) {
  if (memcmp(first->values, second->values, (size_t)first->count * sizeof(float)) == 0) return RAN;
  return fail(to, "the second run gave other bits");
}

static outcome run_once(const subject *s, const workload *work, const operation *op, call_fn *call,
                        const convoy_plan *plan, const test_array *out, complaint *to) {
  const operands with = workload_operands(work, op, out->values);
  convoy_run run = CONVOY_RUN_INIT;
  const convoy_status status = call(s->context, &work->problem, op, &with, &run);
  if (status == CONVOY_ERR_UNSUPPORTED) return check_refusal(plan, out, to);
  if (status != CONVOY_OK)
    return fail(to, "%s: %s", convoy_status_name(status), convoy_last_error());
  const outcome result = check_run(s, plan, &run, to);
  return result == RAN ? check_memory(work, out, to) : result;
}

outcome check_call(const subject *s, const workload *work, const operation *op, call_fn *call,
                   const ref_value *expected, char *what, size_t size) {
  complaint to = {what, size};
  const test_case *p = &work->problem;
  convoy_plan plan = {.struct_size = sizeof plan};
  if (convoy_plan_problem(s->context, s->algorithm, &p->conv, op->direction, p->x_shape, p->w_shape,
                          &plan) != CONVOY_OK)
    return fail(&to, "no plan: %s", convoy_last_error());
  test_array first = make_output(work, op), second = make_output(work, op);
  outcome result = run_once(s, work, op, call, &plan, &first, &to);
  if (result == RAN) result = check_values(work, op, &plan, &first, expected, &to);
  if (result == RAN) result = run_once(s, work, op, call, &plan, &second, &to);
  if (result == RAN) result = check_bits(&first, &second, &to);
  test_array_free(&first);
  test_array_free(&second);
  return result;
}
