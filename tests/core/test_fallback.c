/* The CPU in place of the device that was asked for: told every hour, by the health query and in a
 * line of description; and what that line says of every other context. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/box.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/where.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static convoy_status run(convoy_context *context) {
  float out[3];
  return convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, NULL);
}

static void see_devices(void) {
  convoy_close(open_named("fake:0", CONVOY_NO));
}

/* ------------------------------------------------------------------------------- reminders */

static void check_lines(int lines, const char *last) {
  assert_int_equal(box_lines_logged(), lines);
  if (lines) check_says(box.logged, last);
  box.logged[0] = '\0';
}

static void touch(convoy_context *context, int way) {
  convoy_device_info info = {.struct_size = sizeof info};
  if (way == 0) assert_int_equal(run(context), CONVOY_OK);
  if (way == 1) assert_int_equal(convoy_sync(context), CONVOY_OK);
  if (way == 2) assert_int_equal(convoy_mark_step(context, 1), CONVOY_OK);
  if (way == 3) assert_int_equal(convoy_context_device(context, &info), CONVOY_OK);
}

static void test_said_again_every_hour(void **state) {
  (void)state;
  see_devices();
  fake.gone = 1;
  convoy_context *context = open_named("GPU One", CONVOY_ON), *cpu = open_named("cpu", CONVOY_ON);
  check_lines(1, "GPU One cannot be opened");
  for (int hour = 1; hour <= 4; hour++) {
    char words[64];
    snprintf(words, sizeof words, ") in place of GPU One for %d h: \"GPU One\" was fake:1 (", hour);
    box.later = 3600 * hour - 60;
    touch(context, hour - 1);
    touch(cpu, hour - 1);
    check_lines(0, "");
    box.later = 3600 * hour + 1;
    touch(cpu, hour - 1);
    touch(context, hour - 1);
    touch(context, hour - 1);
    check_lines(1, words);
  }
  const int64_t seconds = health_of(context).fallback_seconds;
  assert_true(seconds > 4 * 3600 && seconds < 4 * 3600 + 60);
  assert_int_equal(health_of(context).downgrades, 1);
  assert_int_equal(health_of(cpu).fallback_seconds, 0);
  convoy_close(context);
  convoy_close(cpu);
}

/* So is a device that was closed for good while the program ran. */
static void test_closed_for_good(void **state) {
  (void)state;
  convoy_context *context = open_named("fake:1", CONVOY_ON);
  assert_int_equal(health_of(context).fallback_seconds, 0);
  assert_string_equal(description_of(context), "fake:1 (Fake GPU One): asked for as \"fake:1\"");
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
  assert_int_equal(run(context), CONVOY_OK);
  assert_int_equal(health_of(context).fallback_seconds, 1);
  check_says(description_of(context), ") in place of fake:1 for 1 s: ");
  box.later = 3 * 3600 + 5;
  box.logged[0] = '\0';
  assert_int_equal(run(context), CONVOY_OK);
  check_lines(1, "still computing on cpu (");
  convoy_close(context);
}

/* And one that is suspended, until it is recovered. */
static void test_suspended(void **state) {
  (void)state;
  convoy_context *context = open_named("fake:1", CONVOY_ON);
  fake.suspensions = 6;
  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(run(context), CONVOY_OK);
  box.logged[0] = '\0';
  box.later = 3601;
  assert_int_equal(health_of(context).fallback_seconds, 3602);
  check_lines(1, "in place of fake:1 for 1 h: the fake device is not to be had yet");
  for (int calls = 0; calls < 10; calls++) assert_int_equal(convoy_sync(context), CONVOY_OK);
  assert_int_equal(health_of(context).fallback_seconds, 0);
  box.later = 3 * 3601;
  assert_int_equal(run(context), CONVOY_OK);
  assert_string_equal(box_device(context), "fake:1");
  assert_string_equal(box.logged, "");
  check_says(description_of(context), "fake:1 (Fake GPU One): asked for as");
  convoy_close(context);
}

/* A child computes on the CPU by design, as long as it likes. */
static void test_children_are_quiet(void **state) {
  (void)state;
  see_devices();
  fake.gone = 1;
  convoy_context *context = open_named("fake:1", CONVOY_ON);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    box.later = 4000;
    box.logged[0] = '\0';
    run(context);
    const bool quiet = !box.logged[0] && !health_of(context).fallback_seconds;
    _exit(!quiet || !strstr(description_of(context), "): after fork() the CPU computes"));
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  convoy_close(context);
}

/* ------------------------------------------------------------------------- one line for all */

static void check_described(const char *device, const char *wanted) {
  convoy_context *context = open_named(device, CONVOY_ON);
  check_says(description_of(context), wanted);
  convoy_close(context);
}

static void test_described(void **state) {
  (void)state;
  check_described("auto", "fake:1 (Fake GPU One): the first GPU of OpenCL");
  check_described("gpu one", "fake:1 (Fake GPU One): asked for as \"gpu one\"");
  check_described("Fake", "fake:1 (Fake GPU One): asked for as \"Fake\"");
  check_described("CPU:0", "): asked for as \"CPU:0\"");
  fake.bus = "0000:3b:00.0";
  check_described("auto", ": the first GPU of OpenCL, the same card as fake:0");
  check_described("fake:0", ": asked for as \"fake:0\", the same card as fake:1");
  fake.bus = NULL;
  fake.no_gpu = true;
  check_described("auto",
                  "): no GPU is seen through OpenCL, HIP or CUDA, the CPU computes: there is only "
                  "fake:0 (Fake|Processor), fake:1 (Fake GPU One)");
  fake.gone = 2;
  check_described("auto",
                  "the CPU computes: this machine has also had fake:0 (Fake/Processor) "
                  "until 2026-11-23, fake:1");
  fake.gone = 0;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  char text[6];
  assert_int_equal(convoy_context_describe(context, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, "cpu (");
  assert_int_equal(convoy_context_describe(context, text, 0), CONVOY_OK);
  assert_int_equal(convoy_context_describe(context, NULL, 10), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_context_describe(NULL, text, sizeof text), CONVOY_ERR_ARGUMENT);
  convoy_close(context);
  assert_int_equal(convoy_context_describe(context, text, sizeof text), CONVOY_ERR_ARGUMENT);
}

/* Without failover a device that is lost stays what the context is on. */
static void test_lost_is_described(void **state) {
  (void)state;
  convoy_context *context = open_named("fake:1", CONVOY_NO);
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
  assert_int_equal(run(context), CONVOY_ERR_DEVICE);
  check_says(description_of(context), "fake:1 (Fake GPU One), lost: ");
  assert_int_equal(health_of(context).fallback_seconds, 0);
  convoy_close(context);
}

/* Names longer than any sentence. */
static void test_long_names(void **state) {
  (void)state;
  char name[128];
  memset(name, 'y', sizeof name);
  name[sizeof name - 1] = '\0';
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = name;
  assert_int_equal(convoy_open(&options, &context), CONVOY_ERR_NOT_FOUND);
  fake.name = name;
  see_devices();
  fake.gone = 1;
  context = open_named(name, CONVOY_ON);
  const size_t length = strlen(description_of(context));
  assert_true(length > 2 * sizeof name && length < CONVOY_DESCRIPTION_TEXT - 1);
  box.later = 3601;
  assert_int_equal(run(context), CONVOY_OK);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_said_again_every_hour, where_fresh),
      cmocka_unit_test_setup(test_closed_for_good, where_fresh),
      cmocka_unit_test_setup(test_suspended, where_fresh),
      cmocka_unit_test_setup(test_children_are_quiet, where_fresh),
      cmocka_unit_test_setup(test_described, where_fresh),
      cmocka_unit_test_setup(test_lost_is_described, where_fresh),
      cmocka_unit_test_setup(test_long_names, where_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
