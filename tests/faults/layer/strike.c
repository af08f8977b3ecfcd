/* Counting, and the faults that need no arguments. */
#include "strike.h"

#include "control.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RULES_MOST = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static faults_control *control;
static uint32_t generation = 1; /* of the rules below; odd: none read yet */
static fault_rule rules[RULES_MOST];
static int rule_count;

static _Noreturn void give_up(const char *why) {
  fprintf(stderr, "convoy-faults: %s\n", why);
  _exit(2);
}

/* -1: there is none of that name. */
static int find(const char *name) {
  for (int i = 0; strike_name(i); i++)
    if (strcmp(strike_name(i), name) == 0) return i;
  return -1;
}

static void check(const fault_rule *rule) {
  char why[sizeof rule->entry + 64];
  const char *wrong = NULL;
  if (find(rule->entry) < 0)
    wrong = "is no function this layer knows";
  else if (!fault_action_fits(rule->action, rule->entry))
    wrong = rule->action == FAULT_STALL ? "cannot stall: it enqueues nothing"
                                        : "makes no data that could be wrong";
  if (!wrong) return;
  snprintf(why, sizeof why, "%.*s %s", (int)sizeof rule->entry - 1, rule->entry, wrong);
  give_up(why);
}

static void read_rules(void) {
  char text[FAULTS_RULES_TEXT], why[256];
  generation = faults_control_get(control, text);
  rule_count = fault_rules_read(text, rules, RULES_MOST, why, sizeof why);
  if (rule_count < 0) give_up(why);
  for (int i = 0; i < rule_count; i++) check(&rules[i]);
}

void strike_start(void) {
  const char *path = getenv("CONVOY_FAULT_FILE"), *text = getenv("CONVOY_FAULT");
  control = faults_control_open(path);
  if (!control) give_up(strerror(errno));
  for (int i = 0; strike_name(i); i++) {
    if (i == FAULTS_ENTRIES) give_up("FAULTS_ENTRIES is too small");
    strncpy(control->name[i], strike_name(i), FAULTS_NAME - 1);
  }
  if (text && strlen(text) >= FAULTS_RULES_TEXT) give_up("CONVOY_FAULT is too long");
  /* A worker started anew must not undo what the file says meanwhile. */
  if (text && atomic_load(&control->generation) == 0) faults_control_set(control, text);
  read_rules();
}

static bool applies(const fault_rule *rule, const char *name, uint64_t number) {
  if (strcmp(rule->entry, name) != 0) return false;
  return rule->later ? number >= rule->first : number == rule->first;
}

/* What is due for call `number`; the first rule that applies counts. */
static fault due(const char *name, uint64_t number) {
  fault found = {FAULT_NONE, 0};
  pthread_mutex_lock(&lock);
  if (atomic_load(&control->generation) != generation) read_rules();
  for (int i = 0; i < rule_count && !found.action; i++)
    if (applies(&rules[i], name, number)) found = (fault){rules[i].action, rules[i].value};
  if (found.action) {
    snprintf(control->last, sizeof control->last, "%s#%llu=%s", name, (unsigned long long)number,
             fault_action_name(found.action));
    atomic_fetch_add(&control->struck, 1);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void hang(int unused) {
  (void)unused;
  for (;;) pause();
}

static void be_slow(int milliseconds) {
  nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
}

/* Not raise(SIGSEGV): once PoCL has made a context LLVM owns the handler, and swallows it. */
static void crash(int unused) {
  (void)unused;
  volatile int *volatile nowhere = NULL;
  *nowhere = 1;  // NOLINT: this is the fault
}

static void die(int unused) {
  (void)unused;
  abort();
}

static void be_killed(int unused) {
  (void)unused;
  kill(getpid(), SIGKILL);
}

static void be_stopped(int unused) {
  (void)unused;
  kill(getpid(), SIGSTOP);
}

static void (*const carry_out[FAULT_ACTIONS])(int) = {
    [FAULT_HANG] = hang, [FAULT_SLOW] = be_slow,   [FAULT_CRASH] = crash,
    [FAULT_ABORT] = die, [FAULT_KILL] = be_killed, [FAULT_STOP] = be_stopped,
};

fault strike(const char *name) {
  const int called = find(name);
  if (called < 0) give_up(name);
  const uint64_t number = atomic_fetch_add(&control->calls[called], 1) + 1;
  fault found = due(name, number);
  if (!carry_out[found.action]) return found;
  carry_out[found.action](found.value);
  return (fault){FAULT_NONE, 0};
}
