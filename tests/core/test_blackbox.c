/* The black box: what markers of other boots, other trainers and killed ones lead to, what a fault
 * report says, and that a full disk is no more than one line of log. */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/marker.h"
#include "core/open.h"
#include "core/sensors.h"
#include "os/os.h"

/* The linker sends these calls here (--wrap). */
static int boot;     /* which it is; another number is another boot */
static double later; /* seconds that the clock is ahead */
static bool disk_full;

bool __wrap_cvy_boot_id(char *text, size_t size);
double __real_cvy_clock(void);
double __wrap_cvy_clock(void);
convoy_status __real_cvy_file_write(const char *path, const void *bytes, size_t count);
convoy_status __wrap_cvy_file_write(const char *path, const void *bytes, size_t count);

bool __wrap_cvy_boot_id(char *text, size_t size) {
  snprintf(text, size, "boot-%d", boot);
  return true;
}

double __wrap_cvy_clock(void) {
  return __real_cvy_clock() + later;
}

convoy_status __wrap_cvy_file_write(const char *path, const void *bytes, size_t count) {
  if (disk_full) return cvy_fail(CONVOY_ERR_IO, "the disk is full");
  return __real_cvy_file_write(path, bytes, count);
}

/* ------------------------------------------------------------------------------- helpers */

static char folder[] = "/tmp/convoy-blackbox-XXXXXX";
static char logged[4096];

static void keep_log(void *user, convoy_log_level level, const char *line) {
  (void)user;
  (void)level;
  strncat(logged, line, sizeof(logged) - strlen(logged) - 2);
  strcat(logged, "\n");
}

static int lines_logged(void) {
  int lines = 0;
  for (const char *at = logged; (at = strchr(at, '\n')); at++) lines++;
  return lines;
}

static int fresh(void **state) {
  char command[200];
  (void)state;
  snprintf(command, sizeof(command), "rm -rf %s/*", folder);
  assert_int_equal(system(command), 0);
  fake_reset();
  boot = 1;
  later = 0;
  disk_full = false;
  logged[0] = '\0';
  convoy_set_log(keep_log, NULL, CONVOY_LOG_WARNING);
  return 0;
}

static int count_files(const char *kind) {
  char pattern[200];
  glob_t found;
  snprintf(pattern, sizeof(pattern), "%s/%s/*.txt", folder, kind);
  int count = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
  if (count) globfree(&found);
  return count;
}

/* The text of the last file of a kind; the caller frees it. */
static char *read_file(const char *kind) {
  char pattern[200];
  glob_t found;
  size_t count;
  snprintf(pattern, sizeof(pattern), "%s/%s/*.txt", folder, kind);
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  char *text = cvy_file_read(found.gl_pathv[found.gl_pathc - 1], &count);
  globfree(&found);
  assert_non_null(text);
  return text;
}

static cvy_marker read_marker(void) {
  cvy_marker marker;
  char *text = read_file("running");
  assert_true(cvy_marker_parse(text, &marker));
  free(text);
  return marker;
}

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

/* Enqueues a convolution and does not wait for it. */
static void enqueue(convoy_context *context) {
  convoy_tensor *x = tensor_of(context, x_shape, NULL), *w = tensor_of(context, w_shape, NULL);
  convoy_tensor *y = tensor_of(context, y_shape, NULL);
  assert_int_equal(convoy_forward(context, &conv, x, w, NULL, NULL, y, NULL), CONVOY_OK);
  convoy_tensor_free(x);
  convoy_tensor_free(w);
  convoy_tensor_free(y);
}

/* A trainer that ends without closing anything, during the first use of a kernel or after it. */
static void die_in_use(bool in_first_use) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    convoy_context *context = open_named("fake", CONVOY_NO);
    convoy_mark_step(context, 7);
    enqueue(context);
    if (!in_first_use) convoy_sync(context);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static const char *device_of(convoy_context *context) {
  static convoy_device_info info;
  info.struct_size = sizeof(info);
  assert_int_equal(convoy_context_device(context, &info), CONVOY_OK);
  return info.id;
}

static void check_opens(const char *device) {
  convoy_context *context = open_named("fake", CONVOY_ON);
  assert_string_equal(device_of(context), device);
  convoy_close(context);
}

/* --------------------------------------------------------------------------------- markers */

static void test_marker_is_kept(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_NO);
  cvy_marker marker = read_marker();
  assert_int_equal(marker.process, getpid());
  assert_string_equal(marker.device, "Fake GPU One");
  assert_string_equal(marker.first_use, "");
  assert_int_equal(convoy_mark_step(context, 12), CONVOY_OK);
  enqueue(context);
  marker = read_marker();
  assert_string_equal(marker.algorithm, "fake.tiled");
  assert_non_null(strstr(marker.first_use, "fake.tiled TILE=16 WORK=2 n1c1k1"));
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  assert_string_equal(read_marker().first_use, ""); /* it is over */

  assert_int_equal(convoy_mark_step(context, 13), CONVOY_OK);
  enqueue(context);
  assert_int_equal(read_marker().step, 12); /* no first use, no minute gone: nothing is written */
  later = 61;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  marker = read_marker();
  assert_int_equal(marker.step, 13);
  assert_string_equal(marker.last, "run fake.tiled");
  convoy_close(context);
  assert_int_equal(count_files("running"), 0);
  assert_string_equal(logged, "");
}

/* One kernel at a time is named: the next one's first use waits for it. */
static void test_one_first_use_at_a_time(void **state) {
  (void)state;
  convoy_conv strided = CONVOY_CONV_INIT(1);
  strided.stride[0] = 2;
  convoy_context *context = open_named("fake", CONVOY_NO);
  convoy_tensor *x = tensor_of(context, x_shape, NULL), *w = tensor_of(context, w_shape, NULL);
  convoy_tensor *y = tensor_of(context, (const int64_t[]){1, 1, 2}, NULL);
  enqueue(context);
  assert_int_equal(fake_seen.runs, 0);
  assert_int_equal(convoy_forward(context, &strided, x, w, NULL, NULL, y, NULL), CONVOY_OK);
  assert_int_equal(fake_seen.runs, 1);
  assert_string_equal(read_marker().algorithm, "fake.direct");
  convoy_tensor_free(x);
  convoy_tensor_free(w);
  convoy_tensor_free(y);
  convoy_close(context);
}

static void test_two_downs_quarantine(void **state) {
  (void)state;
  die_in_use(false);
  boot = 2;
  check_opens("fake:1");
  assert_int_equal(lines_logged(), 1);
  assert_non_null(strstr(logged, "the machine went down while Fake GPU One was in use"));
  assert_non_null(strstr(logged, "step 7"));
  assert_non_null(strstr(logged, "a power cut looks the same, `convoy health --clear` forgets it"));
  logged[0] = '\0';
  check_opens("fake:1"); /* told once */
  assert_string_equal(logged, "");

  die_in_use(false);
  boot = 3;
  check_opens("cpu");
  assert_int_equal(lines_logged(), 2);
  assert_non_null(strstr(logged,
                         "fake:1 cannot be opened, the CPU computes: the machine went down 2 "
                         "times while Fake GPU One was in use"));
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.failover = CONVOY_NO;
  options.device = "auto";
  assert_int_equal(convoy_open(&options, &context), CONVOY_ERR_DEVICE);
  assert_non_null(strstr(convoy_last_error(), "`convoy health --clear` forgets it"));

  char text[2000];
  assert_int_equal(convoy_record("Fake GPU", text, sizeof(text)), CONVOY_OK);
  assert_non_null(strstr(text, "Fake GPU One, driver 1.0: in use when the machine went down"));
  assert_int_equal(convoy_record_clear("another"), CONVOY_OK);
  check_opens("cpu");
  assert_int_equal(convoy_record_clear(NULL), CONVOY_OK);
  check_opens("fake:1");
  assert_int_equal(convoy_record(NULL, text, sizeof(text)), CONVOY_OK);
  assert_string_equal(text, "");
}

/* Another device, though of the same backend, is not suspected. */
static void test_other_device(void **state) {
  (void)state;
  for (int i = 1; i <= 2; i++) {
    boot = i;
    die_in_use(false);
  }
  boot = 3;
  check_opens("cpu");
  convoy_context *context = open_named("fake:0", CONVOY_ON);
  assert_string_equal(device_of(context), "fake:0");
  convoy_close(context);
}

/* Frozen in the first use of a kernel: that algorithm is not used again, the device is. */
static void test_first_use_bars_algorithm(void **state) {
  (void)state;
  die_in_use(true);
  boot = 2;
  convoy_context *context = open_named("fake", CONVOY_ON);
  assert_non_null(strstr(logged, "first use of fake.tiled"));
  convoy_run run = CONVOY_RUN_INIT;
  const float x[4] = {1, 2, 3, 4}, w[2] = {1, 10};
  float y[3];
  assert_int_equal(convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, &run),
                   CONVOY_OK);
  assert_string_equal(run.algorithm, "fake.direct");
  convoy_plan plan = {.struct_size = sizeof(plan)};
  assert_int_equal(
      convoy_plan_problem(context, "fake.tiled", &conv, CONVOY_FORWARD, x_shape, w_shape, &plan),
      CONVOY_OK);
  assert_int_equal(plan.accepted, 0);
  assert_non_null(strstr(plan.reason, "the machine went down during its first use"));
  convoy_close(context);
  die_in_use(true); /* the next kernel, the next strike: the device */
  boot = 3;
  check_opens("cpu");
}

static void test_killed_trainer_means_nothing(void **state) {
  (void)state;
  die_in_use(true);
  assert_int_equal(count_files("running"), 1);
  check_opens("fake:1");
  assert_int_equal(count_files("running"), 0);
  assert_int_equal(count_files("downs"), 0);
  assert_string_equal(logged, "");
}

/* Two contexts here and another trainer: all have markers, nobody touches another's. */
static void test_two_trainers(void **state) {
  (void)state;
  convoy_context *first = open_named("fake", CONVOY_NO);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    open_named("fake", CONVOY_NO);
    for (;;) pause();
  }
  for (int i = 0; i < 500 && count_files("running") < 2; i++) usleep(10000);
  convoy_context *second = open_named("fake", CONVOY_NO);
  int together = count_files("running");
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(together, 3);
  convoy_close(first);
  convoy_close(second);
  assert_int_equal(count_files("running"), 1); /* the killed one's, until somebody opens a device */
  check_opens("fake:1");
  assert_int_equal(count_files("running"), 0);
  assert_string_equal(logged, "");
}

/* A child inherits the context but not the marker. */
static void test_fork(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    later = 100;
    enqueue(context);
    convoy_close(context);
    _exit(count_files("running") != 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(read_marker().process, getpid());
  convoy_close(context);
  assert_int_equal(count_files("running"), 0);
}

/* What is no marker is removed; nothing is counted. */
static void test_garbage(void **state) {
  (void)state;
  char path[200];
  const char *const texts[] = {"", "convoy-running 1\n", "convoy-running 2\nboot: boot-9\n",
                               "convoy-running 1\nboot: x\ndevice: \nprocess: 1\n"};
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    snprintf(path, sizeof(path), "%s/running/%zu.txt", folder, i);
    assert_int_equal(__real_cvy_file_write(path, texts[i], strlen(texts[i])), CONVOY_OK);
  }
  check_opens("fake:1");
  assert_int_equal(count_files("running"), 0);
  assert_int_equal(count_files("downs"), 0);
}

static void test_marker_text(void **state) {
  (void)state;
  cvy_marker marker = {.boot = "b", .process = 3, .born = 4, .device = "a\nb: c", .step = -5};
  cvy_marker back;
  char text[CVY_MARKER_TEXT];
  memset(marker.first_use, 'k', sizeof(marker.first_use) - 1);
  cvy_marker_format(&marker, text);
  assert_true(cvy_marker_parse(text, &back));
  assert_string_equal(back.device, "a b: c");
  assert_string_equal(back.first_use, marker.first_use);
  assert_int_equal(back.born, 4);
  assert_int_equal(back.step, -5);
}

/* --------------------------------------------------------------------------------- reports */

static void test_fault_report(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_mark_step(context, 33);
  enqueue(context);
  fake.fail_at = fake_seen.commands + 6;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  char *text = read_file("reports");
  const char *const parts[] = {"step 33",
                               "fake:1, Fake GPU One",
                               "CONVOY_ERR_DEVICE, the script",
                               "the device was mended",
                               "zero",
                               "run",
                               "fake.tiled"};
  for (size_t i = 0; i < CVY_COUNT(parts); i++) assert_non_null(strstr(text, parts[i]));
  free(text);

  fake.failures = 1000;
  for (int i = 0; i < 30; i++) {
    fake.fail_at = 1;
    enqueue(context);
    convoy_sync(context);
  }
  assert_int_equal(count_files("reports"), 20);
  fake.dies = true;
  enqueue(context);
  convoy_sync(context);
  text = read_file("reports");
  assert_non_null(strstr(text, "the device was given up; the CPU computes from now on"));
  free(text);
  assert_int_equal(count_files("running"), 0); /* a device given up is not in use */
  convoy_close(context);
}

static void test_full_disk(void **state) {
  (void)state;
  disk_full = true;
  convoy_context *context = open_named("fake", CONVOY_NO);
  for (int i = 0; i < 3; i++) {
    enqueue(context);
    fake.fail_at = fake_seen.commands + 1;
    assert_int_equal(convoy_sync(context), CONVOY_ERR_DEVICE);
  }
  const char *line = strstr(logged, "the black box is not kept: the disk is full");
  assert_non_null(line);
  assert_null(strstr(line + 1, "the black box"));
  convoy_close(context);
}

/* A strike that cannot be kept stays a marker, so that it is not lost. */
static void test_full_disk_keeps_markers(void **state) {
  (void)state;
  die_in_use(false);
  boot = 2;
  disk_full = true;
  check_opens("fake:1");
  assert_int_equal(count_files("running"), 1);
  disk_full = false;
  check_opens("fake:1");
  assert_int_equal(count_files("running"), 0);
  assert_int_equal(count_files("downs"), 1);
}

static void test_no_state_folder(void **state) {
  (void)state;
  unsetenv("CONVOY_STATE_DIR");
  setenv("XDG_STATE_HOME", "relative", 1);
  char *home = strdup(getenv("HOME") ? getenv("HOME") : "");
  unsetenv("HOME");
  convoy_context *context = open_named("fake", CONVOY_ON);
  enqueue(context);
  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  convoy_close(context);
  setenv("HOME", home, 1);
  setenv("CONVOY_STATE_DIR", folder, 1);
  free(home);
}

/* --------------------------------------------------------------------------------- sensors */

static void write_sensor(const char *card, const char *file, const char *text) {
  char path[300];
  snprintf(path, sizeof(path), "%s/drm/%s/device/%s", folder, card, file);
  assert_int_equal(__real_cvy_file_write(path, text, strlen(text)), CONVOY_OK);
}

static void test_sensors(void **state) {
  (void)state;
  char root[100], text[300], fifo[300];
  snprintf(root, sizeof(root), "%s/drm", folder);
  cvy_sensors(root, text, sizeof(text));
  assert_string_equal(text, "");
  write_sensor("card0", "hwmon/hwmon3/temp1_input", "54000\n");
  write_sensor("card0", "gpu_busy_percent", "99\n");
  write_sensor("card1", "hwmon/hwmon4/freq1_input", "1750000000\n");
  write_sensor("card1", "gpu_busy_percent", "nonsense\n");
  cvy_sensors(root, text, sizeof(text));
  assert_string_equal(text, "card0 temperature 54 C, card0 load 99 %, card1 clock 1750 MHz");

  /* A file nobody ever answers for: a bounded time, and what came before it. */
  snprintf(fifo, sizeof(fifo), "%s/drm/card1/device/hwmon/hwmon4/power1_average", folder);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  double start = __real_cvy_clock();
  cvy_sensors(root, text, sizeof(text));
  assert_true(__real_cvy_clock() - start < 2);
  assert_string_equal(text, "card0 temperature 54 C, card0 load 99 %, card1 clock 1750 MHz");
}

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  return setenv("CONVOY_STATE_DIR", folder, 1);
}

static int remove_folder(void **state) {
  fresh(state);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_marker_is_kept, fresh),
      cmocka_unit_test_setup(test_one_first_use_at_a_time, fresh),
      cmocka_unit_test_setup(test_two_downs_quarantine, fresh),
      cmocka_unit_test_setup(test_other_device, fresh),
      cmocka_unit_test_setup(test_first_use_bars_algorithm, fresh),
      cmocka_unit_test_setup(test_killed_trainer_means_nothing, fresh),
      cmocka_unit_test_setup(test_two_trainers, fresh),
      cmocka_unit_test_setup(test_fork, fresh),
      cmocka_unit_test_setup(test_garbage, fresh),
      cmocka_unit_test_setup(test_marker_text, fresh),
      cmocka_unit_test_setup(test_fault_report, fresh),
      cmocka_unit_test_setup(test_full_disk, fresh),
      cmocka_unit_test_setup(test_full_disk_keeps_markers, fresh),
      cmocka_unit_test_setup(test_no_state_folder, fresh),
      cmocka_unit_test_setup(test_sensors, fresh),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
