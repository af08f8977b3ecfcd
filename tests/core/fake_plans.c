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

static convoy_status plan_job(cvy_device *device, uint64_t number, const cvy_job *job) {
  append(device, number, job, 0);
  return CONVOY_OK;
}

static convoy_status plan_copy(cvy_device *device, uint64_t number, cvy_operand from,
                               cvy_operand to, int64_t bytes) {
  const cvy_job job = {.in = {from}, .out = {to}};
  append(device, number, &job, bytes);
  return CONVOY_OK;
}

static convoy_status plan_bind(cvy_device *device, uint64_t number, int32_t first, int32_t count,
                               const cvy_base *to) {
  fake_plan *plan = find(device, number);
  if (first + count > (int32_t)CVY_COUNT(plan->bases)) abort();
  memcpy(plan->bases + first, to, (size_t)count * sizeof *to);
  return CONVOY_OK;
}

static convoy_status plan_tap(cvy_device *device, uint64_t number, int32_t step, uint64_t to,
                              int32_t count, const cvy_tap *taps) {
  fake_plan *plan = find(device, number);
  plan->tapped = step;
  plan->taps = count;
  plan->to = to;
  memcpy(plan->tap, taps, (size_t)count * sizeof *taps);
  return CONVOY_OK;
}

static convoy_status plan_run(cvy_device *device, uint64_t number, uint64_t run, uint64_t *ticket) {
  fake_plan *plan = find(device, number);
  cvy_base *bases = malloc(sizeof plan->bases);
  if (!bases) abort();
  memcpy(bases, plan->bases, sizeof plan->bases);
  for (fake_step *step = plan->first; step; step = step->next)
    cvy_problem_set_run(&step->job.problem, run);
  fake_command c = {.kind = PLAN, .id = number, .bases = bases};
  if (plan->taps) {
    c.taps = malloc((size_t)plan->taps * sizeof *c.taps);
    if (!c.taps) abort();
    memcpy(c.taps, plan->tap, (size_t)plan->taps * sizeof *c.taps);
    c.tap_count = plan->taps;
    c.tapped = plan->tapped;
    c.from = plan->to;
    plan->taps = 0;
  }
  return fake_post(device, c, ticket);
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

/* After the runs that were enqueued before. */
static convoy_status plan_drop(cvy_device *device, uint64_t number) {
  fake_command c = {.kind = PLAN_DROP, .id = number};
  return fake_post(device, c, NULL);
}

static int32_t plan_step(const cvy_device *device, uint64_t ticket) {
  (void)ticket;
  return device->fault ? device->fault_step : -1;
}

static convoy_status part(cvy_device *device, uint64_t id, uint64_t of, int64_t at, int64_t bytes,
                          uint64_t *ticket) {
  fake_command c = {.kind = PART, .id = id, .from = of, .at = at, .bytes = bytes};
  return fake_post(device, c, ticket);
}

void fake_drop_plans(cvy_device *device) {
  while (device->plans) drop(&device->plans);
}

void fake_add_plans(cvy_backend *backend) {
  backend->part = part;
  backend->plan_job = plan_job;
  backend->plan_copy = plan_copy;
  backend->plan_bind = plan_bind;
  backend->plan_tap = plan_tap;
  backend->plan_run = plan_run;
  backend->plan_drop = plan_drop;
  backend->plan_step = plan_step;
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
      memcpy((char *)fake_values_of(device, c->from) + tap->to + k * tap->bytes,
             (const char *)values_at(device, c, tap->from) + tap->offset + k * tap->stride,
             (size_t)tap->bytes);
  }
}

bool fake_carry_out_plan(cvy_device *device, fake_command *c) {
  device->fault_step = 0;
  fake_seen.plan_runs++;
  device->in_plan = true;
  for (const fake_step *step = find(device, c->id)->first; step; step = step->next) {
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
