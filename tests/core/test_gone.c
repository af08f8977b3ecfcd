/* A name that was never any device's is a mistake; a device that was here and is gone, or does not open,
 * is a fault, with which the CPU computes and says so again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct {
  convoy_switch failover, require;
} strict[] = {{CONVOY_NO, CONVOY_NO}, {CONVOY_ON, CONVOY_ON}, {CONVOY_NO, CONVOY_ON}};

static convoy_status try_open(const char *device, convoy_switch failover, convoy_switch require) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = device;
  options.failover = (int32_t)failover;
  options.require_device = (int32_t)require;
  const convoy_status status = convoy_open(&options, &context);
  if (!status) convoy_close(context);
  if (status) assert_null(context);
  return status;
}

/* Opening fails with failover off and with require_device on. */
static void check_strict(const char *device, convoy_status status, const char *word) {
  for (size_t i = 0; i < CVY_COUNT(strict); i++) {
    assert_int_equal(try_open(device, strict[i].failover, strict[i].require), status);
    check_says(convoy_last_error(), word);
  }
}

/* The CPU computes in the device's place, and everything says so. */
static void check_falls_back(const char *device, const char *shown, convoy_status status,
                             const char *why) {
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s/reports", box.folder);
  assert_int_equal(system(command), 0);
  box.logged[0] = '\0';
  convoy_context *context = open_named(device, CONVOY_ON);
  char beginning[200];
  assert_string_equal(box_device(context), "cpu");
  snprintf(beginning, sizeof beginning, "%s cannot be opened, the CPU computes: ", shown);
  check_says(box.logged, beginning);
  check_says(box.logged, why);
  assert_int_equal(box_lines_logged(), 1);
  const convoy_health health = health_of(context);
  assert_int_equal(health.downgrades, 1);
  assert_int_equal(health.fallback_seconds, 1);
  snprintf(beginning, sizeof beginning, ") in place of %s for 1 s: ", shown);
  check_says(description_of(context), beginning);
  check_says(description_of(context), why);
  assert_int_equal(strncmp(description_of(context), "cpu (", 5), 0);
  assert_int_equal(run(context), CONVOY_OK);
  convoy_close(context);
  assert_int_equal(box_files("reports"),
                   status != CONVOY_ERR_NOT_FOUND && status != CONVOY_ERR_UNSUPPORTED);
  check_strict(device, status, why);
}

static void see_devices(void) {
  convoy_close(open_named("fake:0", CONVOY_NO));
}

/* -------------------------------------------------------------------------------- mistakes */

static const char *const never[] = {"5600", "cuda", "fake:2", "fake:9", "ocl:9", "fake:", "cpu:1"};

static void check_mistakes(const char *word) {
  for (size_t i = 0; i < CVY_COUNT(never); i++) {
    assert_int_equal(try_open(never[i], CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
    check_says(convoy_last_error(), never[i]);
    check_says(convoy_last_error(), word);
    check_strict(never[i], CONVOY_ERR_NOT_FOUND, word);
  }
}

static void test_a_name_that_nobody_ever_bore(void **state) {
  (void)state;
  check_mistakes("what there is: ");
  assert_int_equal(try_open("5600", CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  check_says(convoy_last_error(),
             "no device is called \"5600\"; what there is: fake:0 "
             "(Fake|Processor), fake:1 (Fake GPU One), cpu (");
  assert_null(strstr(convoy_last_error(), "has also had"));
  fake.gone = 1;
  assert_int_equal(try_open("5600", CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  check_says(convoy_last_error(), "what there is: fake:0 (Fake|Processor), cpu (");
  check_says(convoy_last_error(),
             "; this machine has also had fake:1 (Fake GPU One) until 2026-11-23");
  setenv("CONVOY_DEVICE", "5600", 1);
  assert_int_equal(try_open(NULL, CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  unsetenv("CONVOY_DEVICE");
  assert_string_equal(box.logged, "");
  assert_int_equal(box_files("reports"), 0);
}

/* A driver that cannot be asked makes no device of a name. */
static void test_a_mistake_where_nobody_can_be_asked(void **state) {
  static const convoy_status ways[] = {CONVOY_ERR_DEVICE, CONVOY_ERR_DEADLINE, CONVOY_ERR_MEMORY,
                                       CONVOY_ERR_UNSUPPORTED, CONVOY_ERR_NOT_FOUND};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(ways); i++) {
    fake.list_status = ways[i];
    check_mistakes("what there is: cpu (");
    assert_int_equal(try_open("fake:1", CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
    check_says(convoy_last_error(), "; the script refuses to list");
  }
}

/* Where the home is shared each machine has had its own devices. */
static void test_another_machine(void **state) {
  (void)state;
  see_devices();
  fake.gone = 1;
  where.machine = "m2";
  assert_int_equal(try_open("fake:1", CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  assert_null(strstr(convoy_last_error(), "has also had"));
  where.machine = ""; /* one that says no id is no other's */
  assert_int_equal(try_open("fake:1", CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  fake.gone = 0;
  see_devices();
  fake.gone = 1;
  check_falls_back("fake:1", "fake:1", CONVOY_ERR_DEVICE, "last seen on 2026-11-23");
}

/* Nothing is remembered, which is told when there is something to remember. */
static void test_a_folder_that_cannot_be_written(void **state) {
  (void)state;
  box.disk_full = true;
  see_devices();
  check_says(box.logged, "are not remembered");
  fake.gone = 1;
  assert_int_equal(try_open("fake:1", CONVOY_ON, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  assert_int_equal(try_open("auto", CONVOY_ON, CONVOY_NO), CONVOY_OK);
}

/* ---------------------------------------------------------------------------------- faults */

static void test_gone(void **state) {
  static const char *const names[] = {"fake:1", "FAKE:1 ", "gpu one", "Fake GPU"};
  static const char *const shown[] = {"fake:1", "FAKE:1", "gpu one", "Fake GPU"};
  (void)state;
  see_devices();
  fake.gone = 1;
  for (size_t i = 0; i < CVY_COUNT(names); i++) {
    check_falls_back(names[i], shown[i], CONVOY_ERR_DEVICE,
                     "was fake:1 (Fake GPU One), last seen on 2026-11-23, and is gone; what "
                     "there is: fake:0 (Fake|Processor), cpu (");
  }
  char *report = box_text("reports");
  check_says(report, "device:  fake:1, Fake GPU One, ");
  check_says(report, "and is gone");
  free(report);
  fake.gone = 0;
  convoy_close(open_named("fake:1", CONVOY_NO));
}

static void test_known_but_nobody_can_be_asked(void **state) {
  (void)state;
  see_devices();
  fake.list_status = CONVOY_ERR_DEADLINE;
  check_falls_back("fake:1", "fake:1", CONVOY_ERR_DEADLINE,
                   "2026-11-23, and cannot be asked for: the script refuses to list");
  fake.list_status = CONVOY_ERR_UNSUPPORTED;
  check_falls_back("GPU", "GPU", CONVOY_ERR_UNSUPPORTED,
                   "2026-11-23, and cannot be asked for: the script refuses to list");
  fake.list_status = CONVOY_ERR_NOT_FOUND; /* listed by a driver that has gone */
  check_falls_back("GPU", "GPU", CONVOY_ERR_DEVICE, "is gone: the script refuses to list; what");
}

static void test_there_and_does_not_open(void **state) {
  static const char *const names[] = {"fake:1", "gpu one", "fake", "auto"};
  (void)state;
  fake.open_status = CONVOY_ERR_DEADLINE;
  for (size_t i = 0; i < CVY_COUNT(names); i++)
    check_falls_back(names[i], "fake:1", CONVOY_ERR_DEADLINE, "the script refuses to open");
}

/* They name no device that could be gone or mistaken. */
static void test_open_choices_fall_back(void **state) {
  (void)state;
  fake.list_status = CONVOY_ERR_DEADLINE;
  check_falls_back("auto", "auto", CONVOY_ERR_DEADLINE, "the script refuses to list");
  check_falls_back("Fake", "Fake", CONVOY_ERR_DEADLINE, "the script refuses to list");
  fake.list_status = CONVOY_ERR_NOT_FOUND;
  check_falls_back("fake", "fake", CONVOY_ERR_NOT_FOUND, "the script refuses to list");
  fake.list_status = CONVOY_OK;
  fake.gone = 2;
  check_falls_back("fake", "fake", CONVOY_ERR_NOT_FOUND, "\"fake\" has no device");
}

/* A processor and a card may have the same number in their names: the card is meant, also when it is
 * gone. */
static void test_cards_go_before_the_cpu(void **state) {
  (void)state;
  convoy_device_info cpu = {.struct_size = sizeof cpu};
  int32_t count;
  assert_int_equal(convoy_devices(NULL, &cpu, 1, &count, NULL, 0), CONVOY_OK);
  char part[20];
  snprintf(part, sizeof part, "%.8s", cpu.name);
  convoy_context *context = open_named(part, CONVOY_NO);
  assert_string_equal(box_device(context), "cpu");
  convoy_close(context);
  assert_int_equal(box_lines_logged(), 1);
  check_says(box.logged, "is part of the CPU's name and of no other device's");

  fake.name = part;
  see_devices();
  context = open_named(part, CONVOY_NO);
  assert_string_equal(box_device(context), "fake:1");
  convoy_close(context);
  fake.gone = 1;
  check_falls_back(part, part, CONVOY_ERR_DEVICE, "and is gone; what there is: ");
}

/* -------------------------------------------------------------------------- require_device */

static void test_a_device_is_required(void **state) {
  (void)state;
  setenv("CONVOY_REQUIRE_DEVICE", "on", 1);
  assert_int_equal(try_open("auto", CONVOY_ON, CONVOY_DEFAULT), CONVOY_OK);
  assert_int_equal(try_open("cpu", CONVOY_ON, CONVOY_DEFAULT), CONVOY_OK);
  fake.no_gpu = true;
  for (int failover = CONVOY_ON; failover <= CONVOY_NO; failover++) {
    assert_int_equal(try_open("auto", (convoy_switch)failover, CONVOY_DEFAULT),
                     CONVOY_ERR_NOT_FOUND);
    check_says(convoy_last_error(), "no GPU is seen through OpenCL");
    check_says(convoy_last_error(), "there is only fake:0 (Fake|Processor), fake:1");
    check_says(convoy_last_error(), "require_device");
  }
  assert_int_equal(try_open("auto", CONVOY_ON, CONVOY_NO), CONVOY_OK);
  setenv("CONVOY_REQUIRE_DEVICE", "perhaps", 1);
  assert_int_equal(try_open("cpu", CONVOY_ON, CONVOY_DEFAULT), CONVOY_ERR_ARGUMENT);
  check_says(convoy_last_error(), "CONVOY_REQUIRE_DEVICE is \"perhaps\"");
  unsetenv("CONVOY_REQUIRE_DEVICE");
  assert_int_equal(try_open("auto", CONVOY_NO, CONVOY_DEFAULT), CONVOY_OK);
}

/* What is required is that it opens: a fault later on is hidden as ever. */
static void test_required_and_failing_later(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake:1";
  options.require_device = CONVOY_ON;
  options.verify = CONVOY_VERIFY_OFF;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  fake.fail_at = fake_seen.commands + 1;
  fake.dies = true;
  assert_int_equal(run(context), CONVOY_OK);
  assert_int_equal(health_of(context).faults, 1);
  convoy_close(context);
}

/* ----------------------------------------------------------------------------------- lists */

/* A list tells what is missing from it. */
static void test_lists_tell_what_is_gone(void **state) {
  (void)state;
  char why[400];
  int32_t count;
  see_devices();
  assert_int_equal(convoy_devices(NULL, NULL, 0, &count, why, sizeof why), CONVOY_OK);
  assert_string_equal(why, "");
  fake.gone = 1;
  assert_int_equal(convoy_devices(NULL, NULL, 0, &count, why, sizeof why), CONVOY_OK);
  assert_string_equal(why, "this machine has also had fake:1 (Fake GPU One) until 2026-11-23");
  fake.list_status = CONVOY_ERR_DEVICE;
  assert_int_equal(convoy_devices(NULL, NULL, 0, &count, why, sizeof why), CONVOY_OK);
  assert_string_equal(why,
                      "the script refuses to list; this machine has also had fake:0 "
                      "(Fake/Processor) until 2026-11-23, fake:1 (Fake GPU One) until 2026-11-23");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_a_name_that_nobody_ever_bore, where_fresh),
      cmocka_unit_test_setup(test_a_mistake_where_nobody_can_be_asked, where_fresh),
      cmocka_unit_test_setup(test_another_machine, where_fresh),
      cmocka_unit_test_setup(test_gone, where_fresh),
      cmocka_unit_test_setup(test_known_but_nobody_can_be_asked, where_fresh),
      cmocka_unit_test_setup(test_there_and_does_not_open, where_fresh),
      cmocka_unit_test_setup(test_open_choices_fall_back, where_fresh),
      cmocka_unit_test_setup(test_cards_go_before_the_cpu, where_fresh),
      cmocka_unit_test_setup(test_a_device_is_required, where_fresh),
      cmocka_unit_test_setup(test_required_and_failing_later, where_fresh),
      cmocka_unit_test_setup(test_lists_tell_what_is_gone, where_fresh),
      cmocka_unit_test_setup(test_a_folder_that_cannot_be_written, where_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
