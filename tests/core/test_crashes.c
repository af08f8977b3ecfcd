/* Markers of another boot: the machine went down while the device was in use. What follows, and how it
 * is forgotten. */
#include <string.h>

#include "common/cmocka.h"
#include "core/box.h"
#include "core/open.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static void test_two_crashes_quarantine(void **state) {
  (void)state;
  box_die_in_use(false);
  box.boot = 2;
  box_check_opens("fake:1");
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "the machine went down while Fake GPU One was in use"));
  assert_non_null(strstr(box.logged, "step 7"));
  assert_non_null(
      strstr(box.logged, "a power cut looks the same, `convoy health --clear` forgets it"));
  box.logged[0] = '\0';
  box_check_opens("fake:1"); /* told once */
  assert_string_equal(box.logged, "");

  box_die_in_use(false);
  box.boot = 3;
  box_check_opens("cpu");
  assert_int_equal(box_lines_logged(), 2);
  assert_non_null(strstr(box.logged,
                         "fake:1 cannot be opened, the CPU computes: the machine went down 2 "
                         "times while Fake GPU One was in use"));
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.failover = CONVOY_NO;
  options.device = "auto";
  assert_int_equal(convoy_open(&options, &context), CONVOY_ERR_DEVICE);
  assert_non_null(strstr(convoy_last_error(), "`convoy health --clear` forgets it"));

  char text[2000];
  assert_int_equal(convoy_fault_table("Fake GPU", text, sizeof(text)), CONVOY_OK);
  assert_non_null(strstr(text, "Fake GPU One, driver 1.0: in use when the machine went down"));
  assert_int_equal(convoy_fault_table_clear("another"), CONVOY_OK);
  box_check_opens("cpu");
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_OK);
  box_check_opens("fake:1");
  assert_int_equal(convoy_fault_table(NULL, text, sizeof(text)), CONVOY_OK);
  assert_string_equal(text, "");
}

/* Another device, though of the same backend, is not suspected. */
static void test_other_device(void **state) {
  (void)state;
  for (int i = 1; i <= 2; i++) {
    box.boot = i;
    box_die_in_use(false);
  }
  box.boot = 3;
  box_check_opens("cpu");
  convoy_context *context = open_named("fake:0", CONVOY_ON);
  assert_string_equal(box_device(context), "fake:0");
  convoy_close(context);
}

/* Frozen in the first use of a kernel: that algorithm is not used again, the device is. */
static void test_first_use_bars_algorithm(void **state) {
  (void)state;
  box_die_in_use(true);
  box.boot = 2;
  convoy_context *context = open_named("fake", CONVOY_ON);
  assert_non_null(strstr(box.logged, "first use of fake.tiled"));
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
  box_die_in_use(true); /* the next kernel, the next fault: the device */
  box.boot = 3;
  box_check_opens("cpu");
}

/* A fault that cannot be kept stays a marker, so that it is not lost. */
static void test_full_disk_keeps_markers(void **state) {
  (void)state;
  box_die_in_use(false);
  box.boot = 2;
  box.disk_full = true;
  box_check_opens("fake:1");
  assert_int_equal(box_files("running"), 1);
  box.disk_full = false;
  box_check_opens("fake:1");
  assert_int_equal(box_files("running"), 0);
  assert_int_equal(box_files("downs"), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_two_crashes_quarantine, box_fresh),
      cmocka_unit_test_setup(test_other_device, box_fresh),
      cmocka_unit_test_setup(test_first_use_bars_algorithm, box_fresh),
      cmocka_unit_test_setup(test_full_disk_keeps_markers, box_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
