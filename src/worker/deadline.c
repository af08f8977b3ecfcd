/* The deadlines. Each measures lack of progress: it begins anew with every command or kernel that
 * completes. Why they are what they are:
 *
 * start     A process, its libraries, a driver that opens its device: seconds, on a cold disk more.
 *           Opening is the processor's work, so its time counts as progress.
 * probe     The same for the list of devices. Longer would be in the way of every start of a
 *           program on the machines where it never returns (clinfo on some RX 5600 XT).
 * compile   One program. Compilers take tens of seconds on a busy machine, and loop for ever on
 *           others: they use processor time in both cases, hence the cap on the clock.
 * transfer  A part is at most 64 MiB: a tenth of a second on the slowest bus there is. The rest is
 *           for a driver that moves memory out of the way first.
 * run       One launch is cut to a quarter of a second, so that a guess of a card's speed which is
 *           off by two still keeps half a second. Ten seconds without one that ends are twenty
 *           times what is expected. A kernel's first run comes before its speed is known and may
 *           include what the driver left to do: three times that. */
#include "worker/deadline.h"

#include <string.h>

const cvy_deadline_rule cvy_deadline_rules[CVY_DEADLINES] = {
    [CVY_DEADLINE_START] = {"start", 20, 20, 0, 1, true},
    [CVY_DEADLINE_PROBE] = {"probe", 10, 10, 0, 1, true},
    [CVY_DEADLINE_COMPILE] = {"compile", 30, 30, 0, 1, true},
    [CVY_DEADLINE_TRANSFER] = {"transfer", 10, 30, 8, 1, false},
    [CVY_DEADLINE_RUN] = {"run", 10, 30, 8, 3, false},
};

enum { RESTARTS = 6 };

/* A slow step is forgotten over some hundred others. */
#define FORGET 0.99

void cvy_deadlines_learn(cvy_deadlines *deadlines, cvy_deadline_kind step, double seconds) {
  double *slowest = &deadlines->slowest[step];
  *slowest *= FORGET;
  if (seconds > *slowest) *slowest = seconds;
}

double cvy_deadline(const cvy_deadlines *deadlines, cvy_deadline_kind step, bool first_run) {
  const cvy_deadline_rule *rule = &cvy_deadline_rules[step];
  double seconds = rule->multiple * deadlines->slowest[step];
  if (seconds < rule->least) seconds = rule->least;
  if (seconds > rule->most) seconds = rule->most;
  if (deadlines->fixed[step] > 0) seconds = deadlines->fixed[step];
  return first_run ? seconds * rule->first : seconds;
}

static const struct {
  cvy_deadline_kind step;
  const char *text;
} phases[CVY_PHASES] = {
    [CVY_PHASE_IDLE] = {CVY_DEADLINE_RUN, "idle"},
    [CVY_PHASE_PROBING] = {CVY_DEADLINE_PROBE, "listing devices"},
    [CVY_PHASE_OPENING] = {CVY_DEADLINE_START, "opening the device"},
    [CVY_PHASE_COMPILING] = {CVY_DEADLINE_COMPILE, "compiling a program"},
    [CVY_PHASE_LIBRARY] = {CVY_DEADLINE_COMPILE, "in a library that compiles what it needs"},
    [CVY_PHASE_TRANSFERRING] = {CVY_DEADLINE_TRANSFER, "transferring"},
    [CVY_PHASE_RUNNING] = {CVY_DEADLINE_RUN, "running"},
};

cvy_deadline_kind cvy_deadline_kind_of(cvy_phase phase) {
  return phases[phase].step;
}

const char *cvy_phase_text(cvy_phase phase) {
  return phases[phase].text;
}

/* --------------------------------------------------------------------- CONVOY_DEADLINE */

#define NAME "CONVOY_DEADLINE"
#define MOST 1e6

static bool is_word(const char *at, size_t length, const char *word) {
  return strlen(word) == length && memcmp(at, word, length) == 0;
}

/* Where the value of a word goes; NULL: there is no such word. */
static double *place_of(cvy_deadlines *out, double *restarts, const char *at, size_t length) {
  for (int i = 0; i < CVY_DEADLINES; i++)
    if (is_word(at, length, cvy_deadline_rules[i].name)) return &out->fixed[i];
  if (is_word(at, length, "dispatch")) return &out->dispatch;
  return is_word(at, length, "restarts") ? restarts : NULL;
}

static convoy_status wrong(const char *at) {
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  NAME
                  " is wrong at \"%.40s\"; it may be a list such as start=20,probe=10,"
                  "compile=30,transfer=10,run=10,dispatch=0.25,restarts=6",
                  at);
}

convoy_status cvy_deadlines_parse(const char *text, cvy_deadlines *out) {
  double restarts = RESTARTS;
  *out = (cvy_deadlines){0};
  for (const char *at = text ? text : ""; *at;) {
    size_t length = strcspn(at, "=,");
    double *place = place_of(out, &restarts, at, length);
    if (!place || at[length] != '=') return wrong(at);
    char *end;
    *place = cvy_double(at + length + 1, &end);
    if (end == at + length + 1 || !(*place > 0 && *place <= MOST) || (*end && *end != ','))
      return wrong(at);
    at = *end ? end + 1 : end;
  }
  out->restarts = (int32_t)restarts;
  return CONVOY_OK;
}
