/* Steps keep what their launches need, so that a run looks nothing up but its arrays. Each step has
 * a ticket of its own: what fails, and how far a run has come, is told by step. */
#include "ocl/engine/plans.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/device.h"
#include "ocl/engine/run.h"

/* A job, or where `copied` > 0 a copy from in[0] to out[0]. */
typedef struct plan_step {
  struct plan_step *next;
  int64_t copied; /* bytes */
  captured_job *captured;
  uint64_t closed;     /* device_captured.closed when that was captured */
  prepacked_slot slot; /* of what is made of in[1]... */
  cvy_base packed;     /* ...when it was bound to this */
  job_sizes sizes;
  cvy_job job; /* the last: only the bytes that count are there */
} plan_step;

typedef struct base {
  cvy_base to;
  array_entry *array; /* of the run under way */
} base;

/* What the next run copies of one step's arrays. */
typedef struct tapped {
  int32_t step, count; /* count 0: nothing */
  uint64_t to;
  cvy_tap tap[CVY_MAX_TAPS];
} tapped;

typedef struct engine_plan {
  struct engine_plan *next;
  uint64_t number;
  plan_step *first, **last;
  int32_t steps, bases;
  base *base;
  tapped taps;
} engine_plan;

/* ------------------------------------------------------------------------------------- making */

static engine_plan *find(const cvy_device *device, uint64_t number) {
  engine_plan *plan = device->plans.first;
  while (plan && plan->number != number) plan = plan->next;
  return plan;
}

static convoy_status find_or_make(cvy_device *device, uint64_t number, engine_plan **out) {
  *out = find(device, number);
  if (*out) return CONVOY_OK;
  engine_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  plan->number = number;
  plan->last = &plan->first;
  plan->next = device->plans.first;
  device->plans.first = *out = plan;
  return CONVOY_OK;
}

static convoy_status append(cvy_device *device, uint64_t number, const cvy_job *job,
                            plan_step **out) {
  engine_plan *plan;
  convoy_status status = find_or_make(device, number, &plan);
  if (status) return status;
  plan_step *step = calloc(1, offsetof(plan_step, job) + cvy_job_size(job));
  if (!step) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan's step");
  memcpy(&step->job, job, cvy_job_size(job));
  *plan->last = step;
  plan->last = &step->next;
  plan->steps++;
  *out = step;
  return CONVOY_OK;
}

convoy_status engine_plan_job(cvy_device *device, const cvy_command *command) {
  const cvy_job *job = command->job;
  plan_step *step;
  convoy_status status = fault_check(device);
  if (!status) status = job_check(device, job);
  if (!status) status = append(device, command->plan_job.plan, job, &step);
  if (!status) job_sizes_of(&job->problem, &step->sizes);
  return status;
}

convoy_status engine_plan_copy(cvy_device *device, const cvy_command *command) {
  plan_step *step;
  cvy_job job = {.in = {command->plan_copy.from}, .out = {command->plan_copy.to}};
  convoy_status status = fault_check(device);
  if (!status) status = append(device, command->plan_copy.plan, &job, &step);
  if (!status) step->copied = command->plan_copy.bytes;
  return status;
}

static convoy_status make_bases(engine_plan *plan, int32_t count) {
  if (count <= plan->bases) return CONVOY_OK;
  base *grown = realloc(plan->base, (size_t)count * sizeof *grown);
  if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %d bases", (int)count);
  memset(grown + plan->bases, 0, (size_t)(count - plan->bases) * sizeof *grown);
  plan->base = grown;
  plan->bases = count;
  return CONVOY_OK;
}

convoy_status engine_plan_bind(cvy_device *device, const cvy_command *command) {
  int32_t first = command->plan_bind.first, count = command->plan_bind.count;
  engine_plan *plan = NULL;
  convoy_status status = fault_check(device);
  if (!status) status = find_or_make(device, command->plan_bind.plan, &plan);
  if (!status) status = make_bases(plan, first + count);
  for (int32_t i = 0; i < count && !status; i++) plan->base[first + i].to = command->bases[i];
  return status;
}

convoy_status engine_plan_tap(cvy_device *device, const cvy_command *command) {
  int32_t count = command->plan_tap.count;
  engine_plan *plan;
  convoy_status status = fault_check(device);
  if (!status) status = find_or_make(device, command->plan_tap.plan, &plan);
  if (status) return status;
  plan->taps.step = command->plan_tap.step;
  plan->taps.to = command->plan_tap.array;
  plan->taps.count = count;
  memcpy(plan->taps.tap, command->taps, (size_t)count * sizeof *command->taps);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------------ carrying out
 */

static convoy_status find_arrays(cvy_device *device, const engine_plan *plan) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < plan->bases && !status; i++) {
    base *at = &plan->base[i];
    at->array = NULL;
    if (at->to.id) status = find_array(device, at->to.id, at->to.at, &at->array);
  }
  return status;
}

static convoy_status find_span(const engine_plan *plan, cvy_operand place, int64_t bytes,
                               int32_t origin, span *out) {
  int32_t number = cvy_place_base(place);
  const base *at = number >= 0 && number < plan->bases ? &plan->base[number] : NULL;
  if (!at || !at->array)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "base %d of the plan is bound to nothing", (int)number);
  int64_t begin = at->to.at + cvy_place_at(place);
  if (bytes > at->array->bytes - begin)
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "a step needs %lld bytes from %lld on of device array %llu, which has %lld",
                    (long long)bytes, (long long)begin, (unsigned long long)at->to.id,
                    (long long)at->array->bytes);
  *out = span_behind(span_of(at->array->piece, origin), begin / (int64_t)sizeof(float));
  return CONVOY_OK;
}

/* An array without elements is absent. */
static convoy_status find_spans(const engine_plan *plan, const plan_step *step, job_arrays *out) {
  const job_sizes *sizes = &step->sizes;
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < sizes->inputs && !status; i++)
    if (sizes->in[i])
      status = find_span(plan, step->job.in[i], sizes->in[i], ORIGIN_IN + i, &out->in[i]);
  for (int32_t i = 0; i < sizes->outputs && !status; i++)
    if (sizes->out[i])
      status = find_span(plan, step->job.out[i], sizes->out[i], ORIGIN_OUT + i, &out->out[i]);
  return status;
}

static bool is_bound_to(const cvy_base *a, const cvy_base *b) {
  return a->constant && b->constant && a->id == b->id && a->at == b->at;
}

/* What was packed of an operand serves as long as the operand is the same; of one that is another
 * in each run nothing is held between runs. */
static void begin_slot(cvy_device *device, const engine_plan *plan, plan_step *step) {
  static const cvy_base nothing = {0};
  int32_t number = step->sizes.inputs > 1 ? cvy_place_base(step->job.in[1]) : -1;
  const cvy_base *now = number >= 0 ? &plan->base[number].to : &nothing;
  if (!is_bound_to(now, &step->packed)) prepacked_slot_drop(device, &step->slot);
  device->prepacked.slot = &step->slot;
}

static void end_slot(cvy_device *device, const engine_plan *plan, plan_step *step) {
  device->prepacked.slot = NULL;
  if (!step->slot.piece) return;
  const cvy_base *now = &plan->base[cvy_place_base(step->job.in[1])].to;
  bool again = is_bound_to(now, &step->packed);
  step->packed = *now;
  if (!again) prepacked_slot_drop(device, &step->slot);
}

static convoy_status run_job(cvy_device *device, const engine_plan *plan, plan_step *step,
                             uint64_t run) {
  job_arrays arrays = {0};
  captured_job *captured;
  convoy_status status = find_spans(plan, step, &arrays);
  if (status) return status;
  const captured_job *known = step->closed == device->captured.closed ? step->captured : NULL;
  cvy_problem_set_run(&step->job.problem, run);
  begin_slot(device, plan, step);
  status = job_launch(device, &step->job, known, &step->sizes, &arrays, &captured);
  end_slot(device, plan, step);
  if (!captured) return status;
  free(step->captured);
  step->captured = captured;
  step->closed = device->captured.closed;
  return status;
}

static runtime_place place_of(span at) {
  return (runtime_place){at.memory, (size_t)at.at * sizeof(float)};
}

static convoy_status run_copy(cvy_device *device, const engine_plan *plan, const plan_step *step) {
  span from, to;
  convoy_status status = find_span(plan, step->job.in[0], step->copied, ORIGIN_NONE, &from);
  if (!status) status = find_span(plan, step->job.out[0], step->copied, ORIGIN_NONE, &to);
  if (status) return status;
  const runtime *calls = device->runtime;
  int32_t code = calls->copy(device->queue, place_of(from), place_of(to), (size_t)step->copied);
  return code ? calls->fail(code, "copying in a plan") : CONVOY_OK;
}

static convoy_status copy_tap(cvy_device *device, const engine_plan *plan, const cvy_tap *tap,
                              const array_entry *to) {
  span from;
  int64_t reach = tap->offset + (tap->count - 1) * tap->stride + tap->bytes;
  convoy_status status = find_span(plan, tap->from, reach, ORIGIN_NONE, &from);
  if (!status && tap->bytes * tap->count > to->bytes - tap->to)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "a tap of %lld bytes does not fit",
                      (long long)(tap->bytes * tap->count));
  const runtime *calls = device->runtime;
  runtime_place source = place_of(from);
  runtime_place target = {to->piece->memory, (size_t)(to->piece->at + tap->to)};
  source.byte += (size_t)tap->offset;
  int32_t code = 0;
  for (int32_t i = 0; i < tap->count && !status && !code; i++) {
    code = calls->copy(device->queue, source, target, (size_t)tap->bytes);
    source.byte += (size_t)tap->stride;
    target.byte += (size_t)tap->bytes;
  }
  return code ? calls->fail(code, "copying for a sample") : status;
}

static convoy_status copy_taps(cvy_device *device, const engine_plan *plan, int32_t step,
                               int32_t after) {
  const tapped *taps = &plan->taps;
  array_entry *to;
  if (!taps->count || taps->step != step) return CONVOY_OK;
  convoy_status status = find_array(device, taps->to, 0, &to);
  for (int32_t i = 0; i < taps->count && !status; i++)
    if (taps->tap[i].after == after) status = copy_tap(device, plan, &taps->tap[i], to);
  return status;
}

static convoy_status run_step(cvy_device *device, const engine_plan *plan, plan_step *step,
                              int32_t number, uint64_t run) {
  if (number > 0) device->tickets.issued++;
  convoy_status status = copy_taps(device, plan, number, 0);
  if (!status)
    status = step->copied ? run_copy(device, plan, step) : run_job(device, plan, step, run);
  if (!status) status = copy_taps(device, plan, number, 1);
  if (!status) flush_burst(device);
  return status;
}

/* Who waits for this run does not wait for the next, which may be enqueued. */
static convoy_status mark_end(cvy_device *device) {
  runtime_event *end = NULL;
  if (device->stream_is_lent) return CONVOY_OK;
  int32_t code = device->runtime->marker(device->queue, &end);
  if (code) return device->runtime->fail(code, "marking the end of a run");
  completion_add_last(device, end);
  return CONVOY_OK;
}

static convoy_status run_steps(cvy_device *device, engine_plan *plan, uint64_t run) {
  convoy_status status = find_arrays(device, plan);
  int32_t number = 0;
  for (plan_step *step = plan->first; step && !status; step = step->next)
    status = run_step(device, plan, step, number++, run);
  plan->taps.count = 0;
  return status ? status : mark_end(device);
}

/* The ticket of a run that fails is still that of its last step. */
convoy_status engine_plan_run(cvy_device *device, const cvy_command *command) {
  device_plans *plans = &device->plans;
  uint64_t first = device->tickets.issued, number = command->plan_run.plan;
  engine_plan *plan = find(device, number);
  if (!plan)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "there is no plan %llu", (unsigned long long)number);
  plans->run[plans->runs++ % PLAN_RUNS] = (plan_run){first, plan->steps};
  convoy_status status = run_steps(device, plan, command->plan_run.run);
  if (status) fault_record(device, device->tickets.issued, status);
  if (plan->steps) device->tickets.issued = first + (uint64_t)plan->steps - 1;
  return status;
}

int32_t engine_plan_step(const cvy_device *device, uint64_t ticket) {
  const device_plans *plans = &device->plans;
  for (int i = 0; i < PLAN_RUNS; i++) {
    const plan_run *run = &plans->run[i];
    if (run->first && ticket >= run->first && ticket - run->first < (uint64_t)run->steps)
      return (int32_t)(ticket - run->first);
  }
  return -1;
}

/* ------------------------------------------------------------------------------------- dropping */

static void drop(cvy_device *device, engine_plan **link) {
  engine_plan *gone = *link;
  *link = gone->next;
  while (gone->first) {
    plan_step *step = gone->first;
    gone->first = step->next;
    prepacked_slot_drop(device, &step->slot);
    free(step->captured);
    free(step);
  }
  free(gone->base);
  free(gone);
}

convoy_status engine_plan_drop(cvy_device *device, const cvy_command *command) {
  engine_plan **link = &device->plans.first;
  while (*link && (*link)->number != command->plan_drop.plan) link = &(*link)->next;
  if (*link) drop(device, link);
  return CONVOY_OK;
}

void plans_forget_packed(cvy_device *device) {
  for (engine_plan *plan = device->plans.first; plan; plan = plan->next)
    for (plan_step *step = plan->first; step; step = step->next)
      prepacked_slot_drop(device, &step->slot);
}

void plans_close(cvy_device *device) {
  while (device->plans.first) drop(device, &device->plans.first);
}
