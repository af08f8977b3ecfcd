/* Time counts only while progress could be expected and seen. Not counted:
 *   while this thread did not run    the trainer was stopped, or everything was: what a wait took
 *                                    beyond LATE_SECONDS
 *   while the machine slept          the clock that goes on has gained on the one that does not
 *   while somebody debugs            the trainer or the worker has a tracer
 *   while the worker waits for a processor, or uses one, where that is what its step takes
 * A worker that alone is stopped gets no such excuse. */
#include "worker/patience.h"

#include <math.h>

#include "os/os.h"

#define LATE_SECONDS 0.25
#define SLEPT_SECONDS 1.0
/* Between two looks into /proc: so long, or this part of a deadline. */
#define LOOK_SECONDS 0.1
#define LOOK_PART 0.1

void cvy_patience_begin(cvy_patience *patience, const cvy_progress *now) {
  patience->seen = *now;
  patience->begin = patience->last = patience->looked = cvy_os.clock();
  patience->asleep = cvy_os.clock_with_sleep() - patience->last;
  patience->still = patience->in_phase = 0;
  patience->cpu_seconds = -1;
}

/* Seconds that passed since the last check and do not count. */
static double excused(cvy_patience *patience, double now) {
  const double passed = now - patience->last;
  const double asleep = cvy_os.clock_with_sleep() - now;
  const bool slept = asleep - patience->asleep > SLEPT_SECONDS;
  patience->last = now;
  patience->asleep = asleep;
  patience->still += passed;
  patience->in_phase += passed;
  if (slept) patience->still = patience->in_phase = 0; /* a device that wakes up takes its time */
  return slept ? passed : passed > LATE_SECONDS ? passed - LATE_SECONDS : 0;
}

static void note_progress(cvy_patience *patience, const cvy_progress *now) {
  const bool moved = now->moved != patience->seen.moved;
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

static bool is_traced(const cvy_process_look *worker) {
  cvy_process_look self;
  return worker->tracer || (cvy_os.look(cvy_process_id(), &self) && self.tracer);
}

/* Looks at the worker now and then; what /proc shows excuses the time since the last look. */
static void look_around(cvy_patience *patience, double now, double deadline) {
  cvy_process_look worker;
  const double since = now - patience->looked;
  const double wanted = fmin(LOOK_SECONDS, LOOK_PART * deadline);
  if (since < wanted || !cvy_os.look(patience->worker, &worker)) return;
  const bool first = patience->cpu_seconds < 0;
  const double used = worker.cpu_seconds - patience->cpu_seconds;
  const bool worked = used > 0 && !first;
  const bool ready = worker.state == 'R' && !patience->worker_is_self;
  patience->looked = now;
  patience->cpu_seconds = worker.cpu_seconds;
  if (by_cpu_time(patience) && (worked || ready)) patience->still = 0;
  if (ready && !first && used < since) patience->in_phase -= since - used; /* it had to wait */
  if (!is_traced(&worker)) return;
  patience->still = patience->in_phase = 0;
  if (*patience->until > 0) *patience->until += since;
}

static convoy_status missed(const cvy_patience *patience, double now, const char *why,
                            double seconds) {
  return cvy_fail(CONVOY_ERR_DEADLINE,
                  "waited %.1f s for %s: %s of %.1f s; worker process %d was %s",
                  now - patience->begin, patience->what, why, seconds, patience->worker,
                  cvy_phase_text(patience->seen.phase));
}

convoy_status cvy_patience_check(cvy_patience *patience, const cvy_progress *progress) {
  const double now = cvy_os.clock();
  const double free = excused(patience, now);
  if (free > 0) {
    patience->still -= patience->still < free ? patience->still : free;
    patience->in_phase -= patience->in_phase < free ? patience->in_phase : free;
    if (*patience->until > 0) *patience->until += free;
  }
  note_progress(patience, progress);
  const cvy_step step = cvy_step_of(progress->phase);
  const double deadline = cvy_deadline(patience->deadlines, step, progress->first_run);
  look_around(patience, now, deadline);
  if (patience->still >= deadline)
    return missed(patience, now, "no progress within the deadline", deadline);
  if (by_cpu_time(patience) && patience->in_phase >= CVY_WALL_TIMES * deadline)
    return missed(patience, now, "busy beyond the longest time", CVY_WALL_TIMES * deadline);
  if (*patience->until > 0 && now >= *patience->until)
    return missed(patience, now, "no more time in the call's budget", now - patience->begin);
  return CONVOY_OK;
}
