/* One sink for log lines. The level is read without a lock, so a disabled line costs a load. Lines
 * to stderr carry time and rank; a callback gets what is to be said and knows both itself. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

static const char *const level_names[] = {"off", "error", "warning", "info", "debug"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static convoy_log_fn *sink;
static void *sink_user;
static atomic_int sink_level = -1; /* -1: CONVOY_LOG has not been read yet */

/* ----------------------------------------------------------------------------------- level */

/* -1: none. */
static int level_named(const char *text) {
  for (size_t i = 0; i < CVY_COUNT(level_names); i++)
    if (cvy_same(text, level_names[i])) return (int)i;
  return -1;
}

static int level_from_environment(void) {
  const char *text = cvy_env("CONVOY_LOG");
  int level = text ? level_named(text) : -1;
  return level >= 0 ? level : CONVOY_LOG_WARNING;
}

/* ------------------------------------------------------------------------------------ rank */

/* What starters of jobs call the number of a process, the first that is set counts: torchrun, Open
 * MPI, MPICH and Intel MPI, Slurm; the last only tells the processes of one machine apart. */
static const char *const rank_names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                         "LOCAL_RANK"};
enum { UNREAD = -2, NO_RANK = -1, LOCAL = 1 << 30 }; /* LOCAL is added to one of the machine only */
static atomic_int rank = UNREAD;

/* A variable of so common a name may well be something else than a number. */
static int rank_in(const char *name) {
  const char *text = cvy_env(name);
  const size_t length = text ? strlen(text) : 0;
  const bool is_number = length > 0 && length < 10 && strspn(text, "0123456789") == length;
  return is_number ? atoi(text) : NO_RANK;
}

static int read_rank(void) {
  int found = NO_RANK;
  for (size_t i = 0; i < CVY_COUNT(rank_names) && found == NO_RANK; i++) {
    found = rank_in(rank_names[i]);
    if (found != NO_RANK && i == CVY_COUNT(rank_names) - 1) found += LOCAL;
  }
  atomic_store(&rank, found);
  return found;
}

static void add_rank(cvy_text *text) {
  int number = atomic_load(&rank);
  if (number == UNREAD) number = read_rank();
  if (number == NO_RANK) return;
  cvy_text_add(text, number < LOCAL ? " rank %d" : " local rank %d", number % LOCAL);
}

convoy_status cvy_log_check(void) {
  read_rank();
  const char *text = cvy_env("CONVOY_LOG");
  if (!text || level_named(text) >= 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "CONVOY_LOG is \"%s\"; it may be off, error, warning, info or debug", text);
}

static int current_level(void) {
  int level = atomic_load(&sink_level);
  if (level >= 0) return level;
  level = level_from_environment();
  atomic_store(&sink_level, level);
  return level;
}

void cvy_set_log(convoy_log_fn *fn, void *user, convoy_log_level level) {
  pthread_mutex_lock(&lock);
  sink = fn;
  sink_user = user;
  atomic_store(&sink_level, (int)level);
  pthread_mutex_unlock(&lock);
}

bool cvy_log_wanted(convoy_log_level level) {
  return level != CONVOY_LOG_OFF && (int)level <= current_level();
}

bool cvy_log_is_watched(void) {
  pthread_mutex_lock(&lock);
  bool ours = !sink;
  pthread_mutex_unlock(&lock);
  return ours && isatty(STDERR_FILENO);
}

/* ----------------------------------------------------------------------------------- lines */

/* Where stderr is a file that may not grow any more (ulimit -f), the line is lost, not the program:
 * the signal is held back, and taken away unless there was one before. */
static void print(const char *head, const char *line) {
  const struct timespec now = {0, 0};
  sigset_t limit, before, pending;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  sigpending(&pending);
  fprintf(stderr, "%s: %s\n", head, line);
  if (!sigismember(&pending, SIGXFSZ)) sigtimedwait(&limit, NULL, &now);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Without a callback: for people, who look at it days later and at several processes in
 * one. */
static void write_line(const char *line) {
  char head[64], date[24];
  cvy_text text = cvy_text_in(head, sizeof head);
  cvy_utc((int64_t)time(NULL), date, sizeof date);
  cvy_text_add(&text, "convoy: %s", date);
  add_rank(&text);
  print(head, line);
}

void cvy_log(convoy_log_level level, const char *format, ...) {
  if (!cvy_log_wanted(level)) return;
  char line[1024];
  va_list args;
  va_start(args, format);
  cvy_print(line, sizeof line, format, args);
  va_end(args);
  pthread_mutex_lock(&lock);
  convoy_log_fn *fn = sink;
  void *user = sink_user;
  pthread_mutex_unlock(&lock);
  if (fn)
    fn(user, level, line);
  else
    write_line(line);
}
