/* OpenMP's threads as the engine's: they are those of the program's own parallel regions; nested
 * calls, forks and settings do no harm; and their results are the pool's. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "cpu/threads/choice.h"
#include "cpu/threads/openmp.h"
#include "cpu/threads/threads.h"
#include "os/os.h"

extern int omp_get_thread_num(void);
extern int omp_get_max_threads(void);
extern void omp_set_num_threads(int count);
extern void omp_set_max_active_levels(int levels);

#define MOST 64
#define CHILD_SECONDS 30

static char self[4096];

static cvy_threads *open_team(const char *team, int32_t wanted) {
  cvy_threads *threads;
  if (team)
    setenv("CONVOY_TEAM", team, 1);
  else
    unsetenv("CONVOY_TEAM");
  assert_int_equal(cvy_threads_open(wanted, &threads), CONVOY_OK);
  return threads;
}

/* A child that hangs is ended by SIGKILL: OpenMP's threads are started with signals blocked. */
static int child_status(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  for (double start = cvy_clock(); ended == 0 && cvy_clock() - start < CHILD_SECONDS;) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) usleep(1000);
  }
  if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -2;
}

/* ---------------------------------------------------------------------------- whose threads */

typedef struct roll {
  atomic_int ids[MOST]; /* of the threads by OpenMP's numbers */
  atomic_int wrong;
  atomic_int ours; /* parts done by threads with our names */
} roll;

static void call_roll(void *arg, int64_t begin, int64_t end, int32_t slot) {
  roll *r = arg;
  char name[16] = "";
  (void)begin, (void)end;
  pthread_getname_np(pthread_self(), name, sizeof name);
  r->ours += strncmp(name, "convoy-cpu", 10) == 0;
  r->wrong += slot != omp_get_thread_num() || atomic_load(&r->ids[slot]) != gettid();
  usleep(1000);
}

static roll roll_of_program(int members) {
  roll r = {0};
  roll *to = &r;
#pragma omp parallel num_threads(members)
  to->ids[omp_get_thread_num()] = gettid();
  return r;
}

static void the_programs_threads_are_the_engines(void **state) {
  (void)state;
  cvy_threads *threads = open_team("openmp", 4);
  cvy_parallel_items(threads, 4, call_roll, &(roll){0}); /* its threads come from either */
  roll r = roll_of_program(4);
  for (int i = 0; i < 20; i++) cvy_parallel_items(threads, 100, call_roll, &r);
  assert_int_equal(r.wrong, 0);
  assert_int_equal(r.ours, 0);
  cvy_threads_close(threads);
}

static int parts_of_pool(const char *team, int32_t wanted) {
  roll r = {0};
  cvy_threads *threads = open_team(team, wanted);
  for (int i = 0; i < 20; i++) cvy_parallel_items(threads, 100, call_roll, &r);
  cvy_threads_close(threads);
  return r.ours;
}

static const cvy_team *team_for(const char *team, int32_t count) {
  cvy_team *chosen = NULL;
  setenv("CONVOY_TEAM", team, 1); /* "": as if it were not set */
  assert_int_equal(cvy_team_choose(count, &chosen), CONVOY_OK);
  return chosen;
}

/* More threads than OpenMP has would not be there for its other loops. */
static void the_pool_takes_more_than_openmp_has(void **state) {
  (void)state;
  int before = omp_get_max_threads();
  omp_set_num_threads(2);
  assert_ptr_equal(team_for("", 2), cvy_openmp_team(true));
  assert_null(team_for("", 3));
  assert_null(team_for("pool", 2));
  assert_ptr_equal(team_for("openmp", 3), cvy_openmp_team(false));
  assert_true(parts_of_pool("pool", 2) > 0);
  assert_int_equal(parts_of_pool("openmp", 3), 0);
  omp_set_num_threads(before);
}

static void the_default_is_openmps_number(void **state) {
  (void)state;
  int before = omp_get_max_threads();
  omp_set_num_threads(1);
  cvy_threads *threads = open_team(NULL, 0);
  assert_int_equal(cvy_threads_count(threads), 1);
  cvy_threads_close(threads);
  omp_set_num_threads(before);
}

static void other_words_are_refused(void **state) {
  (void)state;
  cvy_threads *threads = NULL;
  setenv("CONVOY_TEAM", "tbb", 1);
  assert_int_equal(cvy_threads_open(2, &threads), CONVOY_ERR_ARGUMENT);
  assert_string_equal(cvy_last_error(), "CONVOY_TEAM is \"tbb\"; it may be openmp or pool");
  unsetenv("CONVOY_TEAM");
}

/* ------------------------------------------------------------------------------- results */

typedef struct sums {
  const float *values;
  float slot[MOST];
} sums;

static void add_up(void *arg, int64_t begin, int64_t end, int32_t slot) {
  sums *s = arg;
  float sum = 0;
  for (int64_t i = begin; i < end; i++) sum += s->values[i];
  s->slot[slot] = sum;
}

/* 64 threads, which are more than most machines have processors. */
static void bits_are_those_of_the_pool(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  static float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = 1.0f / (float)(i + 1);
  sums pool = {.values = values}, openmp = {.values = values};
  cvy_threads *ours = open_team("pool", MOST), *others = open_team("openmp", MOST);
  cvy_parallel_for(ours, COUNT, add_up, &pool);
  for (int i = 0; i < 20; i++) {
    memset(openmp.slot, 0, sizeof openmp.slot);
    cvy_parallel_for(others, COUNT, add_up, &openmp);
    assert_memory_equal(openmp.slot, pool.slot, sizeof pool.slot);
  }
  cvy_threads_close(ours);
  cvy_threads_close(others);
}

/* ------------------------------------------------------------------------ calls from anywhere */

static void count_items(void *arg, int64_t begin, int64_t end, int32_t slot) {
  atomic_llong *sum = arg;
  (void)slot;
  *sum += end - begin;
}

static int sums_wrong(cvy_threads *threads, int rounds) {
  int wrong = 0;
  for (int i = 0; i < rounds; i++) {
    atomic_llong sum = 0;
    cvy_parallel_items(threads, 1000, count_items, &sum);
    wrong += sum != 1000;
  }
  return wrong;
}

/* From each thread of a region of the program, on one engine and on one for each. */
static int wrong_within_region(int levels) {
  cvy_threads *shared = open_team("openmp", 3), *own[4];
  atomic_int wrong = 0;
  for (int i = 0; i < 4; i++) own[i] = open_team("openmp", 3);
  omp_set_max_active_levels(levels);
#pragma omp parallel num_threads(4)
  wrong += sums_wrong(shared, 50) + sums_wrong(own[omp_get_thread_num()], 50);
  omp_set_max_active_levels(1);
  for (int i = 0; i < 4; i++) cvy_threads_close(own[i]);
  cvy_threads_close(shared);
  return wrong;
}

static void calls_within_a_region_run(void **state) {
  (void)state;
  assert_int_equal(wrong_within_region(1), 0);
  assert_int_equal(wrong_within_region(2), 0);
}

typedef struct caller {
  pthread_t thread;
  cvy_threads *threads;
  int wrong;
} caller;

static void *call_and_end(void *arg) {
  caller *c = arg;
  c->threads = NULL;
  if (cvy_threads_open(3, &c->threads)) return NULL;
  c->wrong = sums_wrong(c->threads, 200);
  cvy_threads_close(c->threads);
  return NULL;
}

/* Each calling thread has a team of OpenMP's, which ends with it. */
static void several_threads_have_engines_of_their_own(void **state) {
  (void)state;
  caller callers[4];
  setenv("CONVOY_TEAM", "openmp", 1);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4; i++) {
      callers[i].wrong = -1;
      assert_int_equal(pthread_create(&callers[i].thread, NULL, call_and_end, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
      pthread_join(callers[i].thread, NULL);
      assert_int_equal(callers[i].wrong, 0);
    }
  }
  unsetenv("CONVOY_TEAM");
}

/* ---------------------------------------------------------------------------- fork and exec */

/* The program has used OpenMP and the engine is opened in the child: nobody has seen the fork. */
static void an_engine_of_a_forked_child_keeps_off_openmp(void **state) {
  (void)state;
  (void)roll_of_program(4);
  setenv("CONVOY_TEAM", "openmp", 1);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    cvy_threads *threads = NULL;
    _exit(cvy_threads_open(3, &threads) || sums_wrong(threads, 20) ? 1 : 0);
  }
  assert_int_equal(child_status(child), 0);
  unsetenv("CONVOY_TEAM");
}

static void only_children_of_fork_are_forked(void **state) {
  (void)state;
  assert_false(cvy_process_is_forked());
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(cvy_process_is_forked() ? 0 : 1);
  assert_int_equal(child_status(child), 0);
}

/* A process of its own, which OpenMP's threads of this one are not in. */
static int run_self(const char *what) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    execl(self, self, what, NULL);
    _exit(127);
  }
  return child_status(child);
}

static int be_replaced(void) {
  cvy_threads *threads;
  if (cvy_process_is_forked() || cvy_threads_open(4, &threads) || sums_wrong(threads, 20)) return 1;
  execl(self, self, "nothing", NULL);
  return 2;
}

static void exec_ends_threads_that_wait(void **state) {
  (void)state;
  assert_int_equal(run_self("replaced"), 0);
}

/* ------------------------------------------------------------------------- what the system has */

/* GNU's runtime ends the program where it cannot start a thread. A call from within a region of the
 * program, where it needs none, says nothing of later ones. */
static int be_short_of_memory(bool after_region) {
  cvy_threads *threads;
  struct rlimit limit;
  setenv("CONVOY_TEAM", "openmp", 1);
  convoy_set_log(NULL, NULL, CONVOY_LOG_ERROR);
  if (cvy_threads_open(MOST, &threads)) return 1;
  int wrong = 0;
#pragma omp parallel num_threads(2) if (after_region)
  if (after_region && omp_get_thread_num() == 0) wrong = sums_wrong(threads, 1);
  if (wrong) return 5;
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (!file || fscanf(file, "%lu", &pages) != 1) return 2;
  fclose(file);
  limit.rlim_cur = limit.rlim_max = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (100ul << 20);
  if (setrlimit(RLIMIT_AS, &limit)) return 3;
  return sums_wrong(threads, 20) ? 4 : 0;
}

static void too_few_threads_do_the_work(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__)
  skip(); /* its shadow memory is beyond any limit */
#endif
  assert_int_equal(run_self("short"), 0);
  assert_int_equal(run_self("short after region"), 0);
}

static void count_lines(void *user, convoy_log_level level, const char *line) {
  int *count = user;
  (void)level;
  *count += strstr(line, "OpenMP computes with 1 of 3 threads") != NULL;
}

/* Run with settings that leave OpenMP one thread; `team` is the one that three threads then have.
 * That CONVOY_TEAM gets less than was asked for is said once. */
static int be_limited(const char *team, bool ours) {
  cvy_threads *threads;
  cvy_team *chosen;
  int lines = 0;
  setenv("CONVOY_TEAM", team, 1);
  convoy_set_log(count_lines, &lines, CONVOY_LOG_WARNING);
  if (cvy_openmp_threads() != 1 || cvy_team_choose(3, &chosen) || !chosen != ours) return 1;
  if (cvy_threads_open(3, &threads) || sums_wrong(threads, 20)) return 2;
  return lines == !ours ? 0 : 3;
}

static void limits_of_openmp_hold(void **state) {
  (void)state;
  static const char *const limits[][2] = {
      {"OMP_NUM_THREADS", "1"}, {"OMP_THREAD_LIMIT", "1"}, {"OMP_MAX_ACTIVE_LEVELS", "0"}};
  for (size_t i = 0; i < CVY_COUNT(limits); i++) {
    setenv(limits[i][0], limits[i][1], 1);
    assert_int_equal(run_self("limited"), 0);
    if (i > 0) assert_int_equal(run_self("limited openmp"), 0);
    unsetenv(limits[i][0]);
  }
}

int main(int argc, char **argv) {
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return EXIT_FAILURE;
  if (argc > 1 && !strcmp(argv[1], "replaced")) return be_replaced();
  if (argc > 1 && !strcmp(argv[1], "short")) return be_short_of_memory(false);
  if (argc > 1 && !strcmp(argv[1], "short after region")) return be_short_of_memory(true);
  if (argc > 1 && !strcmp(argv[1], "limited")) return be_limited("", true);
  if (argc > 1 && !strcmp(argv[1], "limited openmp")) return be_limited("openmp", false);
  if (argc > 1) return EXIT_SUCCESS;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_children_of_fork_are_forked),
      cmocka_unit_test(an_engine_of_a_forked_child_keeps_off_openmp),
      cmocka_unit_test(the_programs_threads_are_the_engines),
      cmocka_unit_test(the_pool_takes_more_than_openmp_has),
      cmocka_unit_test(the_default_is_openmps_number),
      cmocka_unit_test(other_words_are_refused),
      cmocka_unit_test(bits_are_those_of_the_pool),
      cmocka_unit_test(calls_within_a_region_run),
      cmocka_unit_test(several_threads_have_engines_of_their_own),
      cmocka_unit_test(exec_ends_threads_that_wait),
      cmocka_unit_test(too_few_threads_do_the_work),
      cmocka_unit_test(limits_of_openmp_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
