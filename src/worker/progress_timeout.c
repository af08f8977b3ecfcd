/* Time counts only while progress could be expected and seen. Neither deadline nor budget passes
 *   while this thread does not run   the trainer is stopped, or everything is (worker/meter.h)
 *   while the machine sleeps         the clock that goes on has gained on the one that does not
 *   while somebody debugs the trainer
 * and no deadline, but the call's budget,
 *   while somebody debugs the worker it may have brought its tracer along, and a call must end
 *   while the worker waits for a processor, or uses one, where that is what its step takes
 * A worker that alone is stopped gets no such allowance: it is charged. */
#include "worker/progress_timeout.h"

#include <math.h>

#include "os/os.h"

#define SLEPT_SECONDS 1.0
/* Between two looks into /proc: so long, or this part of a deadline. */
#define LOOK_SECONDS 0.1
#define LOOK_PART 0.1
/* Of a call's time: more than that in a library's hands was for compiling. */
#define ONCE_SHARE 0.05

void cvy_progress_timeout_begin(cvy_progress_timeout *timeout, const cvy_progress *now) {
  timeout->meter = cvy_meter_begin(timeout->budget);
  timeout->seen = *now;
  timeout->had = timeout->budget ? *timeout->budget : 0;
  timeout->begin = timeout->looked = timeout->meter.last;
  timeout->asleep = cvy_os.clock_with_sleep() - timeout->begin;
  timeout->still = timeout->in_phase = timeout->unlooked = 0;
  timeout->cpu_seconds = -1;
}

/* What is done once: compiling, and a kernel's first run, in which drivers do what they have left
 * to do. A library may compile or not. */
static void note_once(cvy_spent *spent, const cvy_progress *seen, double seconds) {
  bool is_first = seen->phase == CVY_PHASE_RUNNING && seen->first_run;
  bool is_new = seen->phase == CVY_PHASE_COMPILING || is_first;
  if (is_new || seen->phase == CVY_PHASE_LIBRARY) spent->once += seconds;
  if (seen->phase == CVY_PHASE_COMPILING && !spent->programs) spent->programs = 1;
  spent->is_new |= is_new;
}

/* What passed since the last check. A device that wakes up with the machine takes its time. */
static void count(cvy_progress_timeout *timeout) {
  double counted = cvy_meter_look(&timeout->meter, CVY_LATE_SECONDS);
  double asleep = cvy_os.clock_with_sleep() - timeout->meter.last;
  bool slept = asleep - timeout->asleep > SLEPT_SECONDS;
  timeout->asleep = asleep;
  timeout->still = slept ? 0 : timeout->still + counted;
  timeout->in_phase = slept ? 0 : timeout->in_phase + counted;
  timeout->unlooked += slept ? 0 : counted;
  if (slept)
    cvy_meter_uncharge(&timeout->meter, counted);
  else if (timeout->spent)
    note_once(timeout->spent, &timeout->seen, counted);
}

static void note_progress(cvy_progress_timeout *timeout, const cvy_progress *now) {
  bool moved = now->moved != timeout->seen.moved;
  if (timeout->spent) timeout->spent->programs += (int64_t)(now->compiles - timeout->seen.compiles);
  timeout->seen.compiles = now->compiles;
  timeout->seen.first_run = now->first_run;
  if (!moved && now->phase == timeout->seen.phase) return;
  if (moved)
    cvy_deadlines_learn(timeout->deadlines, cvy_deadline_kind_of(timeout->seen.phase),
                        timeout->still);
  timeout->seen = *now;
  timeout->still = timeout->in_phase = 0;
}

/* Whether the worker's processor time says anything about its step. */
static bool by_cpu_time(const cvy_progress_timeout *timeout) {
  return timeout->on_processor ||
         cvy_deadline_rules[cvy_deadline_kind_of(timeout->seen.phase)].by_cpu_time;
}

static bool is_traced(int process) {
  cvy_process_look look;
  return cvy_os.look(process, &look) && look.tracer;
}

/* Looks at the worker now and then; what /proc shows may leave the time since the last look
 * uncharged. */
static void look_around(cvy_progress_timeout *timeout, double deadline) {
  cvy_process_look worker;
  double now = timeout->meter.last, since = timeout->unlooked;
  double wanted = fmin(LOOK_SECONDS, LOOK_PART * deadline);
  if (now - timeout->looked < wanted || !cvy_os.look(timeout->worker, &worker)) return;
  bool first = timeout->cpu_seconds < 0;
  double used = worker.cpu_seconds - timeout->cpu_seconds;
  bool worked = used > 0 && !first;
  bool ready = worker.state == 'R' && !timeout->worker_is_self;
  timeout->looked = now;
  timeout->unlooked = 0;
  timeout->cpu_seconds = worker.cpu_seconds;
  if (by_cpu_time(timeout) && (worked || ready)) timeout->still = 0;
  if (ready && !first && used < since) timeout->in_phase -= since - used; /* it had to wait */
  bool self = is_traced(cvy_process_id());
  if (!self && !worker.tracer) return;
  timeout->still = timeout->in_phase = 0;
  if (self) cvy_meter_uncharge(&timeout->meter, since);
}

static convoy_status missed(const cvy_progress_timeout *timeout, const char *why, double seconds) {
  return cvy_fail(CONVOY_ERR_DEADLINE,
                  "waited %.1f s for %s: %s of %.1f s; worker process %d was %s",
                  timeout->meter.last - timeout->begin, timeout->what, why, seconds,
                  timeout->worker, cvy_phase_text(timeout->seen.phase));
}

/* The call's time is over, and the worker gets on. */
static convoy_status is_over(cvy_progress_timeout *timeout) {
  const cvy_spent *spent = timeout->spent;
  double whole = spent ? spent->whole : timeout->had;
  char once[96] = "";
  cvy_text text = cvy_text_in(once, sizeof once);
  timeout->excused = spent && (spent->is_new || spent->once > ONCE_SHARE * spent->whole);
  if (timeout->excused)
    cvy_text_add(&text, ", of which %.1f s went to compiling (%lld programs) and first runs",
                 spent->once, (long long)spent->programs);
  return cvy_fail(CONVOY_ERR_DEADLINE,
                  "waited %.1f s, at last for %s: no more time in the call's budget of %.1f s%s; "
                  "worker process %d was %s",
                  whole - *timeout->budget, timeout->what, whole, once, timeout->worker,
                  cvy_phase_text(timeout->seen.phase));
}

convoy_status cvy_progress_timeout_check(cvy_progress_timeout *timeout,
                                         const cvy_progress *progress) {
  count(timeout);
  note_progress(timeout, progress);
  cvy_deadline_kind step = cvy_deadline_kind_of(progress->phase);
  double deadline = cvy_deadline(timeout->deadlines, step, progress->first_run);
  look_around(timeout, deadline);
  if (timeout->still >= deadline)
    return missed(timeout, "no progress within the deadline", deadline);
  if (by_cpu_time(timeout) && timeout->in_phase >= CVY_WALL_TIMES * deadline)
    return missed(timeout, "busy beyond the longest time", CVY_WALL_TIMES * deadline);
  return timeout->budget && *timeout->budget <= 0 ? is_over(timeout) : CONVOY_OK;
}

void cvy_progress_timeout_end(cvy_progress_timeout *timeout) {
  cvy_meter_end(&timeout->meter);
}
