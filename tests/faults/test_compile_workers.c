/* A cold step with two compile workers on PoCL: they compile for the device's worker, no program is compiled twice,
 * killing them costs nothing, a warm step starts none, and nothing is left of them. PoCL's own cache is off,
 * so that programs go through Convoy's. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "faults/net.h"

static char pocl[16];
static char cache[] = "/tmp/convoy-cache-XXXXXX";

/* ------------------------------------------------------------------------- what there is */

static pid_t parent_of(const char *process) {
  char path[300];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%s/stat", process);
  FILE *stat = fopen(path, "r");
  if (!stat) return 0;
  if (fscanf(stat, "%*d %*[^)]) %*c %d", &parent) != 1) parent = 0;
  fclose(stat);
  return parent;
}

/* Children of this process but `spared`; with `number` they are sent that signal. */
static int count_children(pid_t spared, int number) {
  DIR *all = opendir("/proc");
  int count = 0;
  assert_non_null(all);
  for (struct dirent *entry; (entry = readdir(all));) {
    if (!isdigit((unsigned char)entry->d_name[0]) || parent_of(entry->d_name) != getpid()) continue;
    const pid_t child = atoi(entry->d_name);
    if (child == spared) continue;
    if (number) kill(child, number);
    count++;
  }
  closedir(all);
  return count;
}

static int count_descriptors(void) {
  DIR *all = opendir("/proc/self/fd");
  int count = 0;
  assert_non_null(all);
  while (readdir(all)) count++;
  closedir(all);
  return count;
}

/* Entries of the cache; fails if anything else is there. */
static int64_t count_programs(void) {
  char path[300];
  int64_t count = 0;
  snprintf(path, sizeof path, "%s/ocl", cache);
  DIR *all = opendir(path);
  assert_non_null(all);
  for (struct dirent *entry; (entry = readdir(all));) {
    if (entry->d_name[0] == '.') continue;
    if (!strstr(entry->d_name, ".bin")) fail_msg("%s is left", entry->d_name);
    count++;
  }
  closedir(all);
  return count;
}

static void empty_cache(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf %s/ocl", cache);
  assert_int_equal(system(command), 0);
}

/* ------------------------------------------------------------------------------- a step */

static convoy_health health_of(struct net *net) {
  convoy_health health = {.struct_size = sizeof health};
  assert_int_equal(convoy_get_health(net->context, &health), CONVOY_OK);
  return health;
}

static void run_calls(struct net *net, int calls, bool kill_compile_workers) {
  for (int call = 0; call < calls; call++) {
    convoy_run run = CONVOY_RUN_INIT;
    if (net_call(net, call, &run)) fail_msg("call %d: %s", call, convoy_last_error());
    assert_string_equal(run.device, pocl);
    assert_int_equal(run.attempts, 1);
    if (kill_compile_workers) count_children((pid_t)health_of(net).worker_pid, SIGKILL);
  }
}

static void check_results(struct net *net, int calls) {
  struct net cpu;
  net_open(&cpu, "cpu", false, 1);
  for (int call = 0; call < calls; call++) assert_int_equal(net_call(&cpu, call, NULL), 0);
  net_read(&cpu);
  net_read(net);
  assert_int_equal(net_difference(net, &cpu), -1);
  net_close(&cpu);
}

/* The first calls of a step, all of them compared with the CPU's results. */
static convoy_health run(int calls, bool kill_compile_workers) {
  const int descriptors = count_descriptors();
  struct net net;
  net_open(&net, pocl, false, 1);
  run_calls(&net, calls, kill_compile_workers);
  const convoy_health health = health_of(&net);
  assert_int_equal(health.faults + health.failovers + health.downgrades, 0);
  check_results(&net, calls);
  net_close(&net);
  assert_int_equal(count_children(0, 0), 0);
  assert_int_equal(count_descriptors(), descriptors);
  return health;
}

static void test_cold_and_warm(void **state) {
  (void)state;
  empty_cache();
  const convoy_health cold = run(NET_CALLS, false);
  assert_true(cold.programs_cached > 0); /* compiled by others */
  assert_int_equal(cold.programs_compiled, count_programs());
  const convoy_health warm = run(NET_CALLS, false);
  assert_int_equal(warm.programs_compiled, 0);
}

static void test_killed(void **state) {
  (void)state;
  empty_cache();
  run(NET_CALLS / 4, true);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cold_and_warm),
      cmocka_unit_test(test_killed),
  };
  if (!mkdtemp(cache)) return EXIT_FAILURE;
  setenv("CONVOY_CACHE_DIR", cache, 1);
  setenv("POCL_KERNEL_CACHE", "0", 1);
  setenv("CONVOY_COMPILE_WORKERS", "2", 1);
  const int status = test_find("pocl", pocl, sizeof pocl);
  if (status != 0) return status;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  empty_cache();
  rmdir(cache);
  return failed;
}
