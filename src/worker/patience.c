/* Time counts only while progress could be expected and seen. Neither deadline nor budget passes
 *   while this thread does not run   the trainer is stopped, or everything is (worker/meter.h)
 *   while the machine sleeps         the clock that goes on has gained on the one that does not
 *   while somebody debugs the trainer
 * and no deadline, but the call's budget,
 *   while somebody debugs the worker it may have brought its tracer along, and a call must end
 *   while the worker waits for a processor, or uses one, where that is what its step takes
 * A worker that alone is stopped gets no such excuse. */
#include "worker/patience.h"

#include <math.h>

#include "os/os.h"

#define SLEPT_SECONDS 1.0
/* Between two looks into /proc: so long, or this part of a deadline. */
#define LOOK_SECONDS 0.1
#define LOOK_PART 0.1

void cvy_patience_begin(cvy_patience *patience, const cvy_progress *now) {
  patience->meter = cvy_meter_begin(patience->budget);
  patience->seen = *now;
  patience->begin = patience->looked = patience->meter.last;
  patience->asleep = cvy_os.clock_with_sleep() - patience->begin;
  patience->still = patience->in_phase = patience->unlooked = 0;
  patience->cpu_seconds = -1;
}

/* What passed since the last check. A device that wakes up with the machine takes its time. */
static void count(cvy_patience *patience) {
  double counted = cvy_meter_look(&patience->meter, CVY_LATE_SECONDS);
  double asleep = cvy_os.clock_with_sleep() - patience->meter.last;
  bool slept = asleep - patience->asleep > SLEPT_SECONDS;
  patience->asleep = asleep;
  patience->still = slept ? 0 : patience->still + counted;
  patience->in_phase = slept ? 0 : patience->in_phase + counted;
  patience->unlooked += slept ? 0 : counted;
  if (slept) cvy_meter_excuse(&patience->meter, counted);
}

static void note_progress(cvy_patience *patience, const cvy_progress *now) {
  bool moved = now->moved != patience->seen.moved;
  if (!moved && now->phase == patience->seen.phase) return;
  if (moved)
    cvy_deadlines_learn(patience->deadlines, cvy_step_of(patience->seen.phase), patience->still);
  patience->seen = *now;
  patience->still = patience->in_phase = 0;
}

/* Whether the worker's processor time says anything about its step. */
static bool by_cpu_time(const cvy_patience *patience) {
  return patience->on_processor ||
         cvy_deadline_rules[cvy_step_of(patience->seen.phase)].by_cpu_time;
}

static bool is_traced(int process) {
  cvy_process_look look;
  return cvy_os.look(process, &look) && look.tracer;
}

/* Looks at the worker now and then; what /proc shows excuses the time since the last look. */
static void look_around(cvy_patience *patience, double deadline) {
  cvy_process_look worker;
  double now = patience->meter.last, since = patience->unlooked;
  double wanted = fmin(LOOK_SECONDS, LOOK_PART * deadline);
  if (now - patience->looked < wanted || !cvy_os.look(patience->worker, &worker)) return;
  bool first = patience->cpu_seconds < 0;
  double used = worker.cpu_seconds - patience->cpu_seconds;
  bool worked = used > 0 && !first;
  bool ready = worker.state == 'R' && !patience->worker_is_self;
  patience->looked = now;
  patience->unlooked = 0;
  patience->cpu_seconds = worker.cpu_seconds;
  if (by_cpu_time(patience) && (worked || ready)) patience->still = 0;
  if (ready && !first && used < since) patience->in_phase -= since - used; /* it had to wait */
  bool self = is_traced(cvy_process_id());
  if (!self && !worker.tracer) return;
  patience->still = patience->in_phase = 0;
  if (self) cvy_meter_excuse(&patience->meter, since);
}

static convoy_status missed(const cvy_patience *patience, const char *why, double seconds) {
  return cvy_fail(CONVOY_ERR_DEADLINE,
                  "waited %.1f s for %s: %s of %.1f s; worker process %d was %s",
                  patience->meter.last - patience->begin, patience->what, why, seconds,
                  patience->worker, cvy_phase_text(patience->seen.phase));
}

convoy_status cvy_patience_check(cvy_patience *patience, const cvy_progress *progress) {
  count(patience);
  note_progress(patience, progress);
  const cvy_step step = cvy_step_of(progress->phase);
  double deadline = cvy_deadline(patience->deadlines, step, progress->first_run);
  look_around(patience, deadline);
  if (patience->still >= deadline)
    return missed(patience, "no progress within the deadline", deadline);
  if (by_cpu_time(patience) && patience->in_phase >= CVY_WALL_TIMES * deadline)
    return missed(patience, "busy beyond the longest time", CVY_WALL_TIMES * deadline);
  if (patience->budget && *patience->budget <= 0)
    return missed(patience, "no more time in the call's budget",
                  patience->meter.last - patience->begin);
  return CONVOY_OK;
}

void cvy_patience_end(cvy_patience *patience) {
  cvy_meter_end(&patience->meter);
}
