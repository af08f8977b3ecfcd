/* Bad settings of OpenMP and OpenBLAS. Each is made in a child process, because both read their
 * environment once, when they are loaded; the engine there must give right results, have the
 * threads that OpenMP may have and start none too many, and keep its speed. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_config.h"
#include "common/cmocka.h"
#include "common/forks.h"
#include "cpu/threads/limits.h"
#include "cpu/threads/threads.h"
#include "cpu/work.h"
#include "os/os.h"

#define ROUNDS 3
#define MOST_ROUNDS 10 /* where others' work, which comes and goes, looks like harm */
#define ONE (CONVOY_HAVE_OPENMP ? 1 : 0) /* thread, if the engine goes by OpenMP's settings */
#define SLOWEST 3.0                      /* times the time without the setting, least of each */

static char self[4096];

/* What a child prints. */
typedef struct report {
  int right, units;
  int reach;         /* processors on which a thread of a pool may run */
  int before, after; /* threads of the process before and after the engine ran, all but */
  int pool;          /* those of the pool that are there afterwards */
  double seconds;
} report;

/* -------------------------------------------------------------------------------- the child */

/* Those of the pool, or the others. */
static int count_threads(bool of_pool) {
  int count = 0;
  DIR *folder = opendir("/proc/self/task");
  if (!folder) return -1;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", entry->d_name);
    FILE *file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
    if (!file) continue;
    if (fgets(name, sizeof name, file)) count += !strncmp(name, "convoy-cpu-", 11) == of_pool;
    fclose(file);
  }
  closedir(folder);
  return count;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}

static double measure(cvy_device *device) {
  double seconds[9];
  cpu_work w = cpu_work_new("n4c64h40w40 k64r3s3 pad1", CONVOY_FORWARD, 0, test_fill_integers);
  cpu_choose_named(device, &w, "cpu.im2col");
  cpu_run(device, &w);
  for (size_t i = 0; i < CVY_COUNT(seconds); i++) {
    double start = cvy_clock();
    cpu_run(device, &w);
    seconds[i] = cvy_clock() - start;
  }
  cpu_work_free(&w);
  return median(seconds, CVY_COUNT(seconds));
}

typedef struct seen {
  pthread_t caller;
  atomic_int reach;
} seen;

static void see_mask(void *arg, int64_t begin, int64_t end, int32_t slot) {
  seen *s = arg;
  cpu_set_t mask;
  (void)begin, (void)end, (void)slot;
  usleep(20000); /* so that the caller does not take both parts */
  if (!pthread_equal(pthread_self(), s->caller) && !sched_getaffinity(0, sizeof mask, &mask))
    s->reach = CPU_COUNT(&mask);
}

/* OpenMP's own threads are bound as the user has asked for; ours are not meant. */
static int reach_of_pool(void) {
  seen s = {pthread_self(), 0};
  cvy_threads *threads;
  const char *team = getenv("CONVOY_TEAM");
  char before[32];
  snprintf(before, sizeof before, "%s", team ? team : "");
  setenv("CONVOY_TEAM", "pool", 1);
  cvy_threads_open(2, &threads);
  setenv("CONVOY_TEAM", before, 1);
  for (int i = 0; i < 50 && s.reach == 0; i++) cvy_parallel_for(threads, 2, see_mask, &s);
  cvy_threads_close(threads);
  return s.reach;
}

static int be_child(void) {
  int before = count_threads(false), reach = reach_of_pool();
  cvy_device *device = cpu_open(0, WORKSPACE);
  int units = cvy_backend_cpu.facts(device)->info.compute_units;
  bool right = cpu_row_is_right(device, "cpu.im2col");
  double seconds = measure(device);
  printf("%d %d %d %d %d %d %.6f\n", right, units, reach, before, count_threads(false),
         count_threads(true), seconds);
  cvy_backend_cpu.close(device);
  return 0;
}

/* -------------------------------------------------------------------------------- the parent */

static report run_child(const char *setting) {
  char command[sizeof self + 256];
  report r = {0};
  snprintf(command, sizeof command, "exec env %s '%s' child", setting, self);
  FILE *child = popen(command, "r");
  assert_non_null(child);
  int read = fscanf(child, "%d %d %d %d %d %d %lf", &r.right, &r.units, &r.reach, &r.before,
                    &r.after, &r.pool, &r.seconds);
  assert_int_equal(pclose(child), 0);
  assert_int_equal(read, 7);
  return r;
}

/* Whether CONVOY_TEAM is that; "": it is not set. */
static bool told(const char *team) {
  const char *set = getenv("CONVOY_TEAM");
  return !strcmp(set ? set : "", team);
}

/* Of each team there may be one thread less than the engine has, which is the caller's; and the
 * watchdog. A team that CONVOY_TEAM rules out has none; where it rules out none the engine may have
 * come to use both, because others wanted the processors for a while. */
static void check_report(const report *r, int units, int processors) {
  int openmp = CONVOY_HAVE_OPENMP && !told("pool") ? units - 1 : 0;
  int pool = !CONVOY_HAVE_OPENMP || !told("openmp") ? units - 1 : 0;
  assert_true(r->right);
  assert_int_equal(r->units, units);
  assert_true(r->reach >= processors);
  assert_in_range(r->after, r->before, r->before + openmp + 1);
  assert_in_range(r->pool, 0, pool);
}

/* Who asks for OpenMP's threads and for one processor for them all gets threads that look for work
 * in each other's way, so then nothing is said of the time; without CONVOY_TEAM the engine notices
 * the crowd that they are, and keeps off them. */
static void check_setting(const char *setting, int units, bool together) {
  double least_plain = INFINITY, least_set = INFINITY, ratio = INFINITY;
  int processors = cvy_cpu_allowed();
  if (units == 0) units = processors;
  for (int i = 0; i < ROUNDS || (i < MOST_ROUNDS && ratio > SLOWEST); i++) {
    report plain = run_child(""), set = run_child(setting);
    check_report(&plain, processors, processors);
    check_report(&set, units, processors);
    least_plain = fmin(least_plain, plain.seconds);
    least_set = fmin(least_set, set.seconds);
    ratio = least_set / least_plain;
  }
  printf("%s: %.2f times the time\n", setting, ratio);
  if (!(together && told("openmp"))) assert_true(ratio <= SLOWEST);
}

static void settings_do_no_harm(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int threads;   /* 0: as many as without it */
    bool together; /* OpenMP's threads are bound to the caller's processor */
  } settings[] = {
      {"OMP_NUM_THREADS=1", ONE, false},
      {"OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive", ONE, false},
      {"OMP_NUM_THREADS=1000", 0, false},
      {"OMP_NUM_THREADS=many OMP_THREAD_LIMIT=-1 OMP_PLACES=here OMP_STACKSIZE=none", 0, false},
      {"OMP_MAX_ACTIVE_LEVELS=0", ONE, false},
      {"OMP_THREAD_LIMIT=1", ONE, false},
      {"OMP_PROC_BIND=true", 0, false},
      {"OMP_PLACES=cores OMP_PROC_BIND=close OMP_NUM_THREADS=1", ONE, false},
      {"OMP_PLACES=threads OMP_PROC_BIND=master", 0, true},
      {"OPENBLAS_NUM_THREADS=64", 0, false},
      {"GOTO_NUM_THREADS=64 OMP_DYNAMIC=true OMP_NESTED=true OMP_MAX_ACTIVE_LEVELS=8", 0, false},
      {"OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite OMP_NUM_THREADS=64", 0, false},
  };
  for (size_t i = 0; i < CVY_COUNT(settings); i++)
    check_setting(settings[i].text, settings[i].threads, settings[i].together);
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "child")) return be_child();
  if (cpu_blas_threads(2) < 2) {
    fputs("skipped: this build of OpenBLAS is not called by several threads\n", stderr);
    return SKIPPED;
  }
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return EXIT_FAILURE;
  const struct CMUnitTest tests[] = {cmocka_unit_test(settings_do_no_harm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
