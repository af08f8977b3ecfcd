/* Quotas of control groups, read from trees made for the purpose. */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "cpu/threads/limits.h"
#include "os/os.h"

static char root[PATH_MAX];

static void put(const char *name, const char *text) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/%s", root, name);
  assert_int_equal(cvy_file_write(path, text, strlen(text)), CONVOY_OK);
}

static int32_t quota(void) {
  char membership[PATH_MAX + 64];
  snprintf(membership, sizeof membership, "%s/membership", root);
  return cvy_cgroup_quota(membership, root);
}

static int fresh_tree(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/convoy-limits-XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int remove_tree(void **state) {
  char command[PATH_MAX + 16];
  (void)state;
  snprintf(command, sizeof command, "rm -r '%s'", root);
  return system(command);
}

static void version_two(void **state) {
  (void)state;
  put("membership", "0::/a/b\n");
  assert_int_equal(quota(), 0);
  put("a/b/cpu.max", "max 100000\n");
  assert_int_equal(quota(), 0);
  put("a/b/cpu.max", "350000 100000\n");
  assert_int_equal(quota(), 4);
  put("a/cpu.max", "150000 100000\n"); /* an ancestor binds too */
  assert_int_equal(quota(), 2);
  put("cpu.max", "1000 100000\n");
  assert_int_equal(quota(), 1);
}

static void version_one(void **state) {
  (void)state;
  put("membership", "3:memory:/m\n2:cpuset,cpu,cpuacct:/c\n");
  put("m/cpu.max", "100000 100000\n"); /* not the group that counts */
  assert_int_equal(quota(), 0);
  put("cpu/c/cpu.cfs_quota_us", "-1\n");
  put("cpu/c/cpu.cfs_period_us", "100000\n");
  assert_int_equal(quota(), 0);
  put("cpu/c/cpu.cfs_quota_us", "300000\n");
  assert_int_equal(quota(), 3);
}

/* Inside a container the path is the host's and is not there; the mount's root holds the limit. */
static void path_of_the_host(void **state) {
  (void)state;
  put("membership", "0::/docker/0123\n");
  put("cpu.max", "200000 100000\n");
  assert_int_equal(quota(), 2);
}

static void damaged_files_limit_nothing(void **state) {
  (void)state;
  put("membership", "nonsense\n1:cpu\n0::/a\n");
  put("a/cpu.max", "many\n");
  assert_int_equal(quota(), 0);
  assert_int_equal(cvy_cgroup_quota("/nowhere/at/all", root), 0);
}

static void affinity_binds(void **state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  int32_t allowed = cvy_cpu_allowed();
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(allowed, 1);
  assert_in_range(cvy_cpu_allowed(), 1, CPU_COUNT(&before));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(version_two, fresh_tree, remove_tree),
      cmocka_unit_test_setup_teardown(version_one, fresh_tree, remove_tree),
      cmocka_unit_test_setup_teardown(path_of_the_host, fresh_tree, remove_tree),
      cmocka_unit_test_setup_teardown(damaged_files_limit_nothing, fresh_tree, remove_tree),
      cmocka_unit_test(affinity_binds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
