/* The disk cache of compiled programs: a second device takes them from there; a damaged or foreign
 * entry is replaced, never fatal. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "engine.h"
#include "os/os.h"

static test_engine engine;
static char cache[] = "/tmp/convoy-cache-XXXXXX";

/* Runs one small problem on ocl.direct, the last row, on a freshly opened device. */
static cvy_usage run_on_a_new_device(void) {
  assert_int_equal(test_engine_open(&engine, 1 << 20), 0);
  convoy_conv conv;
  int64_t x_shape[5], w_shape[5];
  convoy_direction direction;
  cvy_problem problem;
  cvy_parse_problem("n1c1h3w3 k1r3s3 forward", &conv, x_shape, w_shape, &direction);
  cvy_problem_make(&conv, direction, x_shape, w_shape, 0, false, NULL, &problem);
  int32_t last = 0;
  while (engine.backend->algorithms[last + 1]) last++;
  const float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const cvy_params none = {{0}};
  float y = 0;
  const convoy_status status = test_engine_run(&engine, &problem, last, &none, x, w, NULL, &y);
  if (status) fail_msg("%s", engine.module->last_error());
  assert_true(y == 45);
  cvy_usage usage;
  engine.backend->usage(engine.device, &usage);
  test_engine_close(&engine);
  return usage;
}

/* Path of the cache's only entry. */
static void only_entry(char *path, size_t size) {
  char folder[300];
  snprintf(folder, sizeof folder, "%s/ocl", cache);
  DIR *list = opendir(folder);
  assert_non_null(list);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, size, "%s/%s", folder, entry->d_name);
    count++;
  }
  closedir(list);
  assert_int_equal(count, 1);
}

static void a_second_device_takes_it_from_disk(void **state) {
  (void)state;
  cvy_usage usage = run_on_a_new_device();
  assert_int_equal(usage.programs_compiled, 1);
  assert_int_equal(usage.programs_cached, 0);
  usage = run_on_a_new_device();
  assert_int_equal(usage.programs_compiled, 0);
  assert_int_equal(usage.programs_cached, 1);
}

static void expect_rebuild(void) {
  cvy_usage usage = run_on_a_new_device();
  assert_int_equal(usage.programs_compiled, 1);
  usage = run_on_a_new_device();
  assert_int_equal(usage.programs_cached, 1);
}

static void a_cut_entry_is_rebuilt(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  assert_int_equal(truncate(path, 100), 0);
  expect_rebuild();
  only_entry(path, sizeof path);
  assert_int_equal(truncate(path, 3), 0);
  expect_rebuild();
}

static void a_changed_byte_is_noticed(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  size_t count = 0;
  char *file = cvy_file_read(path, &count);
  assert_non_null(file);
  file[count - 5] ^= 1;
  assert_int_equal(cvy_file_write(path, file, count), CONVOY_OK);
  free(file);
  expect_rebuild();
}

/* A sound entry whose contents are no program: the driver refuses it. */
static void what_the_driver_refuses_is_rebuilt(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  struct {
    char magic[8];
    uint64_t bytes, hash;
    char body[24];
  } entry = {"CVYOCL1", 24, 0, "this is not a program"};
  entry.hash = cvy_hash(0, entry.body, sizeof entry.body);
  assert_int_equal(cvy_file_write(path, &entry, sizeof entry), CONVOY_OK);
  expect_rebuild();
}

/* What PoCL keeps is not kept twice. */
static void what_the_driver_keeps_is_left_to_it(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  assert_int_equal(unlink(path), 0);
  setenv("POCL_KERNEL_CACHE", "1", 1);
  for (int i = 0; i < 2; i++) {
    const cvy_usage usage = run_on_a_new_device();
    assert_int_equal(usage.programs_compiled, 1);
    assert_int_equal(usage.programs_cached, 0);
    assert_int_equal(access(path, F_OK), -1);
  }
  setenv("POCL_KERNEL_CACHE", "0", 1);
}

static void without_a_cache_folder_it_compiles(void **state) {
  (void)state;
  setenv("CONVOY_CACHE_DIR", "/proc/nowhere", 1);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  setenv("CONVOY_CACHE_DIR", cache, 1);
}

int main(void) {
  if (!mkdtemp(cache)) return 1;
  setenv("CONVOY_CACHE_DIR", cache, 1);
  setenv("POCL_KERNEL_CACHE", "0", 1); /* so that programs are Convoy's to keep */
  const int ready = test_engine_open(&engine, 1 << 20);
  if (ready) return ready;
  test_engine_close(&engine);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_second_device_takes_it_from_disk),
      cmocka_unit_test(a_cut_entry_is_rebuilt),
      cmocka_unit_test(a_changed_byte_is_noticed),
      cmocka_unit_test(what_the_driver_refuses_is_rebuilt),
      cmocka_unit_test(what_the_driver_keeps_is_left_to_it),
      cmocka_unit_test(without_a_cache_folder_it_compiles),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[300];
  snprintf(command, sizeof command, "rm -r %s", cache);
  return system(command) != 0 || failed;
}
