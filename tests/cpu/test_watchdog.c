/* The watchdog names what hangs once, does not name what goes on, and costs nothing while it is
 * idle. */
#include "cpu/threads/watchdog.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/sleeps.h"
#include "cpu/team.h"
#include "cpu/threads/threads.h"
#include "os/os.h"
#include "problem/conv/conv.h"

#define LIMIT 0.36 /* seconds: a look every 30 ms */
#define CHILD_SECONDS 30

#if defined(__SANITIZE_THREAD__)
#define CHILDREN_MAY_START_THREADS false
#else
#define CHILDREN_MAY_START_THREADS true
#endif

static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_line[1024];
static int lines;

static void take_line(void *user, convoy_log_level level, const char *line) {
  (void)user;
  (void)level;
  pthread_mutex_lock(&lines_lock);
  snprintf(last_line, sizeof last_line, "%s", line);
  lines++;
  pthread_mutex_unlock(&lines_lock);
}

typedef struct watched {
  cvy_threads *threads;
  cvy_watchdog *watchdog;
} watched;

static watched open_watched(double limit) {
  watched w;
  assert_int_equal(cvy_threads_open(3, &w.threads), CONVOY_OK);
  assert_int_equal(cvy_watchdog_open(3, limit, &w.watchdog), CONVOY_OK);
  cvy_threads_set_watchdog(w.threads, w.watchdog);
  lines = 0;
  last_line[0] = '\0';
  return w;
}

static void close_watched(watched *w) {
  cvy_threads_close(w->threads);
  cvy_watchdog_close(w->watchdog);
}

/* Runs a job of three parts. Returns how many stalls it added. */
static int64_t run_job(watched *w, cvy_task *task) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x[] = {5, 77, 9}, filter[] = {2, 77, 3};
  cvy_problem problem;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, filter, 0, false, NULL, &problem),
                   CONVOY_OK);
  int64_t before = cvy_watchdog_stalls(w->watchdog);
  cvy_watchdog_begin(w->watchdog, &problem, "cpu.test");
  cvy_parallel_for(w->threads, 3, task, NULL);
  cvy_watchdog_end(w->watchdog);
  return cvy_watchdog_stalls(w->watchdog) - before;
}

static void sleep_for(double seconds) {
  struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

/* -------------------------------------------------------------------------------- stalls */

static void second_part_hangs(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg, (void)end, (void)slot;
  if (begin == 1) sleep_for(4 * LIMIT);
}

static void what_hangs_is_named_once(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  assert_int_equal(run_job(&w, second_part_hangs), 1);
  assert_int_equal(lines, 1);
  assert_non_null(strstr(last_line, "part 2 of 3"));
  assert_non_null(strstr(last_line, "cpu.test on n5c77w9 k2s3 forward, thread "));
  assert_non_null(strstr(last_line, "no progress for 0.36 s"));
  assert_int_equal(run_job(&w, second_part_hangs), 1); /* another stall is another line */
  assert_int_equal(lines, 2);
  close_watched(&w);
}

static void members_of_a_team_are_watched(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  cvy_threads_lend(w.threads, team_of_test);
  assert_int_equal(run_job(&w, second_part_hangs), 1);
  assert_non_null(strstr(last_line, "part 2 of 3"));
  close_watched(&w);
}

static void product_hangs(void *arg, int64_t begin, int64_t end, int32_t slot) {
  cvy_progress_point before = cvy_heartbeat_enter((cvy_progress_point){CVY_BLAS, {64, 512, 288}});
  second_part_hangs(arg, begin, end, slot);
  cvy_heartbeat_leave(before);
}

static void hanging_products_are_named(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  assert_int_equal(run_job(&w, product_hangs), 1);
  assert_non_null(strstr(last_line, "a BLAS product of 64 x 512 x 288"));
  close_watched(&w);
}

static void all_hang(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg, (void)begin, (void)end, (void)slot;
  sleep_for(4 * LIMIT);
}

static void each_thread_is_reported(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  assert_int_equal(run_job(&w, all_hang), 3);
  assert_int_equal(lines, 3);
  close_watched(&w);
}

/* The line tells a thread that computes from one that waits. On a loaded machine the one that
 * computes has the processor for a part of the time only, so it gets more time: what is reported
 * has one digit. */
#define SPIN_LIMIT 2.4

static void second_part_spins(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg, (void)end, (void)slot;
  double start = cvy_clock();
  while (begin == 1 && cvy_clock() - start < 1.5 * SPIN_LIMIT) continue;
}

static double reported_processor_time(void) {
  const char *at = strstr(last_line, "it used ");
  assert_non_null(at);
  return atof(at + strlen("it used "));
}

static void processor_time_is_reported(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  assert_int_equal(run_job(&w, second_part_hangs), 1);
  assert_true(reported_processor_time() == 0);
  close_watched(&w);
  w = open_watched(SPIN_LIMIT);
  assert_int_equal(run_job(&w, second_part_spins), 1);
  assert_true(reported_processor_time() > 0);
  close_watched(&w);
}

/* ---------------------------------------------------------------------- what is no stall */

/* Together the steps take longer than the limit, each alone far less. */
static void slow_steps(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg, (void)begin, (void)end, (void)slot;
  for (int i = 0; i < 60; i++, cvy_heartbeat_tick()) sleep_for(LIMIT / 20);
}

static void slow_work_is_no_stall(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  assert_int_equal(run_job(&w, slow_steps), 0);
  assert_int_equal(lines, 0);
  close_watched(&w);
}

/* Ends the child with the number of stalls it saw in one job. */
static void run_in_child(double limit, cvy_task *task) {
  alarm(CHILD_SECONDS);
  watched w = open_watched(limit);
  _exit((int)run_job(&w, task));
}

static int child_status(pid_t child) {
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* Takes a third of a second of the program's own time without a sign of life. */
static void steady(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg, (void)begin, (void)end, (void)slot;
  for (int i = 0; i < 33; i++) sleep_for(0.01);
}

static void being_stopped_is_no_stall(void **state) {
  (void)state;
  if (!CHILDREN_MAY_START_THREADS) skip();
  double limit = 1.8;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) run_in_child(limit, steady);
  sleep_for(0.1);
  kill(child, SIGSTOP);
  sleep_for(1.5 * limit);
  kill(child, SIGCONT);
  assert_int_equal(child_status(child), 0);
}

/* ------------------------------------------------------------------------------- manners */

static bool is_watchdog(const char *status) {
  char name[64] = "";
  FILE *file = fopen(status, "re");
  if (file && !fgets(name, sizeof name, file)) name[0] = 0;
  if (file) fclose(file);
  return strncmp(name, "Name:\tconvoy-watchdog", 21) == 0;
}

/* How often the watchdog went to sleep, or -1 if there is none. */
static long watchdog_sleeps(void) {
  char path[512];
  long sleeps = -1;
  DIR *folder = opendir("/proc/self/task");
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    if (is_watchdog(path)) sleeps = test_sleeps(path);
  }
  closedir(folder);
  return sleeps;
}

static void nothing(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg, (void)begin, (void)end, (void)slot;
}

static void idle_watchdog_sleeps(void **state) {
  (void)state;
  watched w = open_watched(LIMIT);
  assert_int_equal(watchdog_sleeps(), -1); /* there is none before the first job */
  run_job(&w, nothing);
  sleep_for(LIMIT);
  long before = watchdog_sleeps();
  assert_true(before > 0);
  sleep_for(2 * LIMIT);
  assert_int_equal(watchdog_sleeps(), before);
  assert_int_equal(run_job(&w, second_part_hangs), 1); /* and wakes when needed */
  close_watched(&w);
}

static void forked_child_is_watched(void **state) {
  (void)state;
  if (!CHILDREN_MAY_START_THREADS) skip();
  watched w = open_watched(LIMIT);
  run_job(&w, nothing);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(CHILD_SECONDS);
    int64_t stalls = run_job(&w, second_part_hangs);
    close_watched(&w);
    _exit((int)stalls);
  }
  assert_int_equal(child_status(child), 1);
  assert_int_equal(run_job(&w, nothing), 0);
  close_watched(&w);
}

int main(void) {
  convoy_set_log(take_line, NULL, CONVOY_LOG_WARNING);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_hangs_is_named_once),   cmocka_unit_test(hanging_products_are_named),
      cmocka_unit_test(what_hangs_is_named_once),   cmocka_unit_test(members_of_a_team_are_watched),
      cmocka_unit_test(hanging_products_are_named), cmocka_unit_test(each_thread_is_reported),
      cmocka_unit_test(processor_time_is_reported), cmocka_unit_test(slow_work_is_no_stall),
      cmocka_unit_test(being_stopped_is_no_stall),  cmocka_unit_test(idle_watchdog_sleeps),
      cmocka_unit_test(forked_child_is_watched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
