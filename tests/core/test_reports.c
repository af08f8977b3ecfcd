/* What a fault leaves on disk: a report, and where there is no disk to write to, one line of log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/box.h"
#include "core/fake.h"
#include "core/open.h"
#include "os/os.h"

static void test_fault_report(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_mark_step(context, 33);
  box_enqueue(context);
  fake.fail_at = fake_seen.commands + 6;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  char *text = box_text("reports");
  const char *const parts[] = {"step 33",
                               "fake:1, Fake GPU One",
                               "CONVOY_ERR_DEVICE, the script",
                               "the device was recovered",
                               "zero",
                               "run",
                               "fake.tiled"};
  for (size_t i = 0; i < CVY_COUNT(parts); i++) assert_non_null(strstr(text, parts[i]));
  free(text);

  fake.failures = 1000;
  for (int i = 0; i < 30; i++) {
    fake.fail_at = 1;
    box_enqueue(context);
    convoy_sync(context);
  }
  assert_int_equal(box_files("reports"), 20);
  fake.dies = true;
  box_enqueue(context);
  convoy_sync(context);
  text = box_text("reports");
  assert_non_null(strstr(text, "the device was closed for good; the CPU computes from now on"));
  free(text);
  assert_int_equal(box_files("running"), 0); /* a device closed for good is not in use */
  convoy_close(context);
}

static void test_full_disk(void **state) {
  (void)state;
  box.disk_full = true;
  convoy_context *context = open_named("fake", CONVOY_NO);
  for (int i = 0; i < 3; i++) {
    box_enqueue(context);
    fake.fail_at = fake_seen.commands + 1;
    assert_int_equal(convoy_sync(context), CONVOY_ERR_DEVICE);
  }
  const char *line = strstr(box.logged, "the black box is not kept: the disk is full");
  assert_non_null(line);
  assert_null(strstr(line + 1, "the black box"));
  convoy_close(context);
}

static void fail_once(void) {
  convoy_context *context = open_named("fake", CONVOY_ON);
  box_enqueue(context);
  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  convoy_close(context);
}

static void check_told_once(const char *why) {
  const char *line = strstr(box.logged, why);
  assert_non_null(line);
  assert_null(strstr(line + 1, "the black box"));
}

static void test_no_state_folder(void **state) {
  (void)state;
  unsetenv("CONVOY_STATE_DIR");
  setenv("XDG_STATE_HOME", "relative", 1);
  char *home = strdup(getenv("HOME") ? getenv("HOME") : "");
  unsetenv("HOME");
  fail_once();
  setenv("HOME", home, 1);
  setenv("CONVOY_STATE_DIR", box.folder, 1);
  free(home);
  check_told_once(
      "the black box is not kept: there is no place for faults and markers: "
      "CONVOY_STATE_DIR, XDG_STATE_HOME and HOME are not set\n");
}

static void test_long_path(void **state) {
  (void)state;
  char folder[620];
  snprintf(folder, sizeof(folder), "%s/%0*d/%0*d", box.folder, 240, 0, 240, 0);
  setenv("CONVOY_STATE_DIR", folder, 1);
  fail_once();
  setenv("CONVOY_STATE_DIR", box.folder, 1);
  check_told_once("the black box is not kept: the path /tmp/convoy-blackbox-");
  assert_non_null(strstr(box.logged, " bytes; 511 fit\n"));
}

/* The trainer may go where it likes: the folder stays where it was. */
static void test_relative_folder(void **state) {
  (void)state;
  char before[4096];
  assert_non_null(getcwd(before, sizeof(before)));
  setenv("CONVOY_STATE_DIR", "kept", 1);
  assert_int_equal(chdir(box.folder), 0);
  convoy_context *context = open_named("fake", CONVOY_ON);
  assert_int_equal(mkdir("other", 0700), 0);
  assert_int_equal(chdir("other"), 0);
  assert_int_equal(box_files("kept/running"), 1);
  fake.fail_at = fake_seen.commands + 1;
  box_enqueue(context);
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  convoy_close(context);
  assert_int_equal(chdir(before), 0);
  setenv("CONVOY_STATE_DIR", box.folder, 1);
  assert_int_equal(box_files("kept/running"), 0);
  assert_int_equal(box_files("kept/reports"), 1);
  assert_int_equal(box_files("other/kept/reports"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_fault_report, box_fresh),
      cmocka_unit_test_setup(test_full_disk, box_fresh),
      cmocka_unit_test_setup(test_no_state_folder, box_fresh),
      cmocka_unit_test_setup(test_long_path, box_fresh),
      cmocka_unit_test_setup(test_relative_folder, box_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
