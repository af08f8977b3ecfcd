/* Plans of the fake device. */
#include <stdlib.h>
#include <string.h>

#include "core/fake_device.h"

typedef struct fake_step {
  struct fake_step *next;
  int64_t copied; /* bytes from in[0] to out[0]; 0: it is a job */
  cvy_job job;
} fake_step;

typedef struct fake_plan {
  struct fake_plan *next;
  uint64_t number;
  fake_step *first, **last;
  cvy_base bases[64];
  int32_t tapped, taps; /* the step of the next run, and how many copies */
  uint64_t to;
  cvy_tap tap[CVY_MAX_TAPS];
} fake_plan;

static fake_plan *find(cvy_device *device, uint64_t number) {
  fake_plan *plan = device->plans;
  while (plan && plan->number != number) plan = plan->next;
  if (plan) return plan;
  plan = calloc(1, sizeof *plan);
  if (!plan) abort();
  plan->number = number;
  plan->last = &plan->first;
  plan->next = device->plans;
  device->plans = plan;
  fake_seen.plans++;
  return plan;
}

static void append(cvy_device *device, uint64_t number, const cvy_job *job, int64_t copied) {
  fake_plan *plan = find(device, number);
  fake_step *step = calloc(1, sizeof *step);
  if (!step) abort();
  memcpy(&step->job, job, cvy_job_size(job));
  step->copied = copied;
  *plan->last = step;
  plan->last = &step->next;
}

static void bind(cvy_device *device, const cvy_command *given) {
  fake_plan *plan = find(device, given->plan_bind.plan);
  int32_t first = given->plan_bind.first, count = given->plan_bind.count;
  if (first + count > (int32_t)CVY_COUNT(plan->bases)) abort();
  memcpy(plan->bases + first, given->bases, (size_t)count * sizeof *given->bases);
}

static void tap(cvy_device *device, const cvy_command *given) {
  fake_plan *plan = find(device, given->plan_tap.plan);
  plan->tapped = given->plan_tap.step;
  plan->taps = given->plan_tap.count;
  plan->to = given->plan_tap.array;
  memcpy(plan->tap, given->taps, (size_t)plan->taps * sizeof *plan->tap);
}

bool fake_plans(cvy_device *device, const cvy_command *given) {
  const cvy_job copy = {.in = {given->plan_copy.from}, .out = {given->plan_copy.to}};
  if (given->kind == CVY_PLAN_JOB) append(device, given->plan_job.plan, given->job, 0);
  if (given->kind == CVY_PLAN_COPY)
    append(device, given->plan_copy.plan, &copy, given->plan_copy.bytes);
  if (given->kind == CVY_PLAN_BIND) bind(device, given);
  if (given->kind == CVY_PLAN_TAP) tap(device, given);
  return given->kind >= CVY_PLAN_JOB && given->kind <= CVY_PLAN_TAP;
}

static void *copy_of(const void *from, size_t bytes) {
  void *copy = malloc(bytes + 1);
  if (!copy) abort();
  return memcpy(copy, from, bytes);
}

void fake_note_plan(cvy_device *device, fake_command *c) {
  fake_plan *plan = find(device, c->given.plan_run.plan);
  for (fake_step *step = plan->first; step; step = step->next)
    cvy_problem_set_run(&step->job.problem, c->given.plan_run.run);
  c->bases = copy_of(plan->bases, sizeof plan->bases);
  c->taps = copy_of(plan->tap, (size_t)plan->taps * sizeof *plan->tap);
  c->tap_count = plan->taps;
  c->tapped = plan->tapped;
  c->tapped_to = plan->to;
  plan->taps = 0;
}

static void drop(fake_plan **link) {
  fake_plan *gone = *link;
  *link = gone->next;
  while (gone->first) {
    fake_step *step = gone->first;
    gone->first = step->next;
    free(step);
  }
  free(gone);
  fake_seen.plans--;
}

void fake_drop_plan(cvy_device *device, uint64_t number) {
  fake_plan **link = &device->plans;
  while (*link && (*link)->number != number) link = &(*link)->next;
  if (*link) drop(link);
}

int32_t fake_plan_step(const cvy_device *device, uint64_t ticket) {
  (void)ticket;
  return device->fault ? device->fault_step : -1;
}

void fake_drop_plans(cvy_device *device) {
  while (device->plans) drop(&device->plans);
}

/* ------------------------------------------------------------------------------- carrying out */

static float *values_at(cvy_device *device, const fake_command *c, cvy_operand place) {
  if (!place.id) return NULL;
  const cvy_base *base = &c->bases[cvy_place_base(place)];
  int64_t at = base->at + cvy_place_at(place);
  return fake_values_of(device, base->id) + at / (int64_t)sizeof(float);
}

static void carry_out(cvy_device *device, const fake_command *c, const fake_step *step) {
  cvy_job host = step->job;
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++)
    host.in[i].host = values_at(device, c, step->job.in[i]);
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++)
    host.out[i].host = values_at(device, c, step->job.out[i]);
  if (step->copied)
    memcpy(host.out[0].host, host.in[0].host, (size_t)step->copied);
  else
    fake_run_job(device, &host);
}

static void copy_taps(cvy_device *device, const fake_command *c, int32_t after) {
  if (device->fault_step != c->tapped) return;
  for (int32_t i = 0; i < c->tap_count; i++) {
    const cvy_tap *tap = &c->taps[i];
    if (tap->after != after) continue;
    for (int32_t k = 0; k < tap->count; k++)
      memcpy((char *)fake_values_of(device, c->tapped_to) + tap->to + k * tap->bytes,
             (const char *)values_at(device, c, tap->from) + tap->offset + k * tap->stride,
             (size_t)tap->bytes);
  }
}

bool fake_carry_out_plan(cvy_device *device, fake_command *c) {
  device->fault_step = 0;
  fake_seen.plan_runs++;
  device->in_plan = true;
  for (const fake_step *step = find(device, c->given.plan_run.plan)->first; step;
       step = step->next) {
    device->in_plan = !fake_failing();
    if (!device->in_plan) return false;
    copy_taps(device, c, 0);
    carry_out(device, c, step);
    copy_taps(device, c, 1);
    device->fault_step++;
  }
  device->in_plan = false;
  return true;
}
