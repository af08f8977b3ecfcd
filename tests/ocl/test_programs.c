/* The disk cache of compiled programs: a second device takes them from there; a damaged or foreign
 * entry is replaced, never fatal. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "engine.h"
#include "os/os.h"
#include "problem/conv/conv.h"

static test_engine engine;
static char cache[] = "/tmp/convoy-cache-XXXXXX";
static double build_wait;

static cvy_problem small_problem(void) {
  convoy_conv conv;
  int64_t x_shape[5], w_shape[5];
  convoy_direction direction;
  cvy_problem problem;
  cvy_parse_problem("n1c1h3w3 k1r3s3 forward", &conv, x_shape, w_shape, &direction);
  cvy_conv_make(&conv, direction, x_shape, w_shape, 0, false, NULL, &problem);
  return problem;
}

static int32_t last_row(void) {
  int32_t last = 0;
  while (engine.backend->algorithms[last + 1]) last++;
  return last;
}

/* Runs one small problem on ocl.direct, the last row, on a freshly opened device. */
static cvy_usage run_on_a_new_device(void) {
  assert_int_equal(test_engine_open_waiting(&engine, 1 << 20, build_wait), 0);
  cvy_problem problem = small_problem();
  const float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  cvy_params none = {{0}};
  float y = 0;
  convoy_status status = test_engine_run(&engine, &problem, last_row(), &none, x, w, NULL, &y);
  if (status) fail_msg("%s", engine.module->last_error());
  assert_true(y == 45);
  cvy_usage usage;
  engine.backend->usage(engine.device, &usage);
  test_engine_close(&engine);
  return usage;
}

/* Writes the path of the cache's only entry. */
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
  char *file;
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, 1 << 30, &file, &count), CONVOY_OK);
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

/* The entry is sound; what its file of a trial says is that a process died loading it. */
static void what_killed_its_loader_is_rebuilt(void **state) {
  (void)state;
  char path[600], trial[620];
  only_entry(path, sizeof path);
  snprintf(trial, sizeof trial, "%.*s.trial", (int)(strrchr(path, '.') - path), path);
  assert_int_equal(cvy_file_write(trial, "", 0), CONVOY_OK);
  expect_rebuild();
  assert_int_equal(access(trial, F_OK), -1);
}

/* PoCL keeps what it compiles, so it is not kept twice. */
static void what_the_driver_keeps_is_left_to_it(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  assert_int_equal(unlink(path), 0);
  setenv("POCL_KERNEL_CACHE", "1", 1);
  for (int i = 0; i < 2; i++) {
    cvy_usage usage = run_on_a_new_device();
    assert_int_equal(usage.programs_compiled, 1);
    assert_int_equal(usage.programs_cached, 0);
    assert_int_equal(access(path, F_OK), -1);
  }
  setenv("POCL_KERNEL_CACHE", "0", 1);
}

/* ------------------------------------------------------------------------------- building */

/* Builds the same problem on a fresh device without running it; returns how many programs it
 * compiled. */
static int64_t build_on_a_new_device(void) {
  assert_int_equal(test_engine_open(&engine, 1 << 20), 0);
  cvy_job job = {.problem = small_problem(), .algorithm = last_row()};
  if (command_build(engine.backend, engine.device, &job))
    fail_msg("%s", engine.module->last_error());
  cvy_usage usage;
  engine.backend->usage(engine.device, &usage);
  assert_int_equal(usage.bytes_held, 0); /* nothing was allocated for it */
  test_engine_close(&engine);
  return usage.programs_compiled;
}

static void lock_path(const char *entry, char *path, size_t size) {
  snprintf(path, size, "%.*slock", (int)(strlen(entry) - strlen("bin")), entry);
}

static void what_is_built_is_there_for_others(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(build_on_a_new_device(), 1);
  assert_int_equal(build_on_a_new_device(), 0);
  cvy_usage usage = run_on_a_new_device();
  assert_int_equal(usage.programs_compiled, 0);
  assert_int_equal(usage.programs_cached, 1);
}

/* Starts a process that seems to compile the program: it holds the lock for a second, and leaves
 * the entry in the end or dies. */
static pid_t compile_elsewhere(const char *entry, bool dies) {
  char lock[600], hidden[620];
  int ready[2];
  lock_path(entry, lock, sizeof lock);
  snprintf(hidden, sizeof hidden, "%s.hidden", entry);
  assert_int_equal(rename(entry, hidden), 0);
  assert_int_equal(pipe(ready), 0);
  pid_t other = fork();
  if (other == 0) {
    int held = cvy_file_lock(lock, 0);
    if (held < 0 || write(ready[1], "", 1) != 1) _exit(1);
    sleep(1);
    if (dies) raise(SIGKILL);
    _exit(rename(hidden, entry) || unlink(lock));
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return other;
}

static void check_end(pid_t other, bool dies) {
  int status;
  assert_int_equal(waitpid(other, &status, 0), other);
  assert_int_equal(dies ? WIFSIGNALED(status) : status == 0, 1);
}

static void nobody_compiles_what_another_is_compiling(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  build_wait = 60;
  pid_t other = compile_elsewhere(path, false);
  assert_int_equal(build_on_a_new_device(), 0); /* it does not even wait */
  cvy_usage usage = run_on_a_new_device();
  assert_int_equal(usage.programs_compiled, 0);
  assert_int_equal(usage.programs_cached, 1);
  check_end(other, false);
}

static void remove_hidden(const char *entry) {
  char hidden[620];
  snprintf(hidden, sizeof hidden, "%s.hidden", entry);
  assert_int_equal(unlink(hidden), 0);
  only_entry(hidden, sizeof hidden);
  assert_string_equal(hidden, entry);
}

static void who_dies_compiling_holds_nobody_up(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  build_wait = 60;
  pid_t other = compile_elsewhere(path, true);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  check_end(other, true);
  remove_hidden(path);
}

static void who_takes_too_long_is_not_waited_for(void **state) {
  (void)state;
  char path[600];
  only_entry(path, sizeof path);
  build_wait = 0.1;
  pid_t other = compile_elsewhere(path, true);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  check_end(other, true);
  char lock[600];
  lock_path(path, lock, sizeof lock);
  assert_int_equal(unlink(lock), 0); /* the one that died left it */
  remove_hidden(path);
}

static void others_may(mode_t mode, const char *path) {
  assert_int_equal(chmod(path, mode), 0);
}

/* Programs are native code: what others could have put there is not run, and nothing is put
 * there. */
static void what_others_may_write_is_not_run(void **state) {
  (void)state;
  char path[600], folder[600];
  only_entry(path, sizeof path);
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  others_may(0664, path);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  assert_int_equal(run_on_a_new_device().programs_cached, 1); /* replaced by one of our own */
  const mode_t shared[] = {0770, 0707};
  for (size_t i = 0; i < CVY_COUNT(shared); i++) {
    others_may(shared[i], folder);
    assert_int_equal(run_on_a_new_device().programs_compiled, 1);
    assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  }
  assert_int_equal(build_on_a_new_device(), 0);
  others_may(01777, folder); /* where each has his own */
  assert_int_equal(run_on_a_new_device().programs_cached, 1);
  others_may(0700, folder);
}

/* Neither at the entry nor at its lock; nothing is made where they lead. */
static void no_link_is_followed(void **state) {
  (void)state;
  char path[600], lock[600], moved[620], end[620];
  only_entry(path, sizeof path);
  lock_path(path, lock, sizeof lock);
  snprintf(moved, sizeof moved, "%s/moved", cache);
  snprintf(end, sizeof end, "%s/end", cache);
  assert_int_equal(rename(path, moved), 0);
  assert_int_equal(symlink(moved, path), 0);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  assert_int_equal(run_on_a_new_device().programs_cached, 1); /* an entry took the link's place */
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink(end, lock), 0);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  assert_int_equal(access(end, F_OK), -1);
  assert_int_equal(unlink(lock), 0);
  assert_int_equal(unlink(moved), 0);
  only_entry(end, sizeof end);
}

/* Nobody waits for what is no file. */
static void no_fifo_is_waited_for(void **state) {
  (void)state;
  char path[600], lock[600];
  only_entry(path, sizeof path);
  lock_path(path, lock, sizeof lock);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(mkfifo(lock, 0600), 0);
  alarm(120);
  assert_int_equal(run_on_a_new_device().programs_compiled, 1);
  assert_int_equal(run_on_a_new_device().programs_cached, 1);
  alarm(0);
  assert_int_equal(unlink(lock), 0);
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
  int ready = test_engine_open(&engine, 1 << 20);
  if (ready) return ready;
  test_engine_close(&engine);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_second_device_takes_it_from_disk),
      cmocka_unit_test(a_cut_entry_is_rebuilt),
      cmocka_unit_test(a_changed_byte_is_noticed),
      cmocka_unit_test(what_the_driver_refuses_is_rebuilt),
      cmocka_unit_test(what_killed_its_loader_is_rebuilt),
      cmocka_unit_test(what_is_built_is_there_for_others),
      cmocka_unit_test(nobody_compiles_what_another_is_compiling),
      cmocka_unit_test(who_dies_compiling_holds_nobody_up),
      cmocka_unit_test(who_takes_too_long_is_not_waited_for),
      cmocka_unit_test(what_others_may_write_is_not_run),
      cmocka_unit_test(no_link_is_followed),
      cmocka_unit_test(no_fifo_is_waited_for),
      cmocka_unit_test(what_the_driver_keeps_is_left_to_it),
      cmocka_unit_test(without_a_cache_folder_it_compiles),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[300];
  snprintf(command, sizeof command, "rm -r %s", cache);
  return system(command) != 0 || failed;
}
