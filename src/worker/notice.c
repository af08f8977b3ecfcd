/* Lines about what takes long, once. */
#include "worker/notice.h"

#include "worker/deadline.h"

/* Between two lines on a terminal, and what separates one occasion from the next. */
#define AGAIN_SECONDS 10.0

static bool is_at_it(const cvy_wire *wire) {
  cvy_phase phase = cvy_wire_get_phase(wire);
  bool first = atomic_load(&wire->first_run) > atomic_load(&wire->completed);
  return cvy_deadline_rules[cvy_deadline_kind_of(phase)].by_cpu_time ||
         (phase == CVY_PHASE_RUNNING && first);
}

/* What it was asked to prepare and has not come to is an operation each. Some have a program in
 * common: those to come, as many as those before. */
static uint64_t left_of(const cvy_notice *notice, const cvy_wire *wire) {
  uint64_t prepared = atomic_load(&wire->prepared), compiles = atomic_load(&wire->compiles);
  uint64_t left = notice->asked > prepared ? notice->asked - prepared : 0;
  return compiles < prepared ? (left * compiles + prepared - 1) / prepared : left;
}

static void say_compiling(const cvy_notice *notice, const cvy_wire *wire) {
  uint64_t done = atomic_load(&wire->compiles) - notice->compiles;
  uint64_t left = left_of(notice, wire);
  if (left)
    cvy_log(CONVOY_LOG_WARNING, "compiling programs for %s, once: %llu of about %llu",
            notice->device, (unsigned long long)done, (unsigned long long)(done + left));
  else
    cvy_log(CONVOY_LOG_WARNING, "compiling programs for %s, once: %llu so far", notice->device,
            (unsigned long long)done);
}

static void say(const cvy_notice *notice, const cvy_wire *wire) {
  if (notice->device[0])
    say_compiling(notice, wire);
  else
    cvy_log(CONVOY_LOG_WARNING, "%s takes its time", cvy_phase_text(cvy_wire_get_phase(wire)));
}

void cvy_notice_look(cvy_notice *notice, const cvy_wire *wire) {
  double now = cvy_clock();
  if (!is_at_it(wire)) return;
  if (!notice->seen || now - notice->seen > AGAIN_SECONDS) {
    notice->begin = now;
    notice->said = 0;
    notice->compiles = atomic_load(&wire->compiles);
  }
  notice->seen = now;
  bool first = !notice->said && now - notice->begin >= CVY_NOTICE_SECONDS;
  bool again = notice->said && now - notice->said >= AGAIN_SECONDS && cvy_log_is_watched();
  if (!first && !again) return;
  notice->said = now;
  say(notice, wire);
}
