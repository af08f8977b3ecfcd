/* The marker of a device in use: what it says, who removes it, and whom it means. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/blackbox.h"
#include "core/box.h"
#include "core/fake.h"
#include "core/open.h"
#include "os/os.h"

static void test_marker_is_kept(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_NO);
  cvy_marker marker = box_marker();
  assert_int_equal(marker.process, getpid());
  assert_string_equal(marker.device, "Fake GPU One");
  assert_string_equal(marker.first_use, "");
  assert_int_equal(convoy_mark_step(context, 12), CONVOY_OK);
  box_enqueue(context);
  marker = box_marker();
  assert_string_equal(marker.algorithm, "fake.tiled");
  assert_non_null(strstr(marker.first_use, "fake.tiled TILE=16 WORK=2 n1c1w4 k1s2 forward"));
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  assert_string_equal(box_marker().first_use, ""); /* it is over */

  assert_int_equal(convoy_mark_step(context, 13), CONVOY_OK);
  box_enqueue(context);
  assert_int_equal(box_marker().step, 12); /* no first use, no minute gone: nothing is written */
  box.later = 61;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  marker = box_marker();
  assert_int_equal(marker.step, 13);
  assert_string_equal(marker.last, "run fake.tiled");
  convoy_close(context);
  assert_int_equal(box_files("running"), 0);
  assert_string_equal(box.logged, "");
}

/* One kernel at a time is named: the next one's first use waits for it. */
static void test_one_first_use_at_a_time(void **state) {
  (void)state;
  const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
  convoy_conv strided = CONVOY_CONV_INIT(1);
  strided.stride[0] = 2;
  convoy_context *context = open_named("fake", CONVOY_NO);
  convoy_tensor *x = tensor_of(context, x_shape, NULL), *w = tensor_of(context, w_shape, NULL);
  convoy_tensor *y = tensor_of(context, (const int64_t[]){1, 1, 2}, NULL);
  box_enqueue(context);
  assert_int_equal(fake_seen.runs, 0);
  assert_int_equal(convoy_forward(context, &strided, x, w, NULL, NULL, y, NULL), CONVOY_OK);
  assert_int_equal(fake_seen.runs, 1);
  assert_string_equal(box_marker().algorithm, "fake.direct");
  convoy_tensor_free(x);
  convoy_tensor_free(w);
  convoy_tensor_free(y);
  convoy_close(context);
}

static void test_killed_trainer_means_nothing(void **state) {
  (void)state;
  box_die_in_use(true);
  assert_int_equal(box_files("running"), 1);
  box_check_opens("fake:1");
  assert_int_equal(box_files("running"), 0);
  assert_int_equal(box_files("downs"), 0);
  assert_string_equal(box.logged, "");
}

/* Two contexts here and another trainer: all have markers, nobody touches another's. */
static void test_two_trainers(void **state) {
  (void)state;
  convoy_context *first = open_named("fake", CONVOY_NO);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must not leave it behind */
    open_named("fake", CONVOY_NO);
    for (;;) pause();
  }
  for (int i = 0; i < 500 && box_files("running") < 2; i++) usleep(10000);
  convoy_context *second = open_named("fake", CONVOY_NO);
  int together = box_files("running");
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(together, 3);
  convoy_close(first);
  convoy_close(second);
  assert_int_equal(box_files("running"), 1); /* the killed one's, until somebody opens a device */
  box_check_opens("fake:1");
  assert_int_equal(box_files("running"), 0);
  assert_string_equal(box.logged, "");
}

/* A child inherits the context but not the marker. */
static void test_fork(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    box.later = 100;
    box_enqueue(context);
    convoy_close(context);
    _exit(box_files("running") != 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(box_marker().process, getpid());
  convoy_close(context);
  assert_int_equal(box_files("running"), 0);
}

/* However many there are. */
static void test_each_kernel_is_named(void **state) {
  (void)state;
  enum { KERNELS = CVY_KERNELS + 50 };
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x[] = {1, 1, 9}, w[] = {1, 1, 3};
  cvy_problem problem;
  assert_int_equal(cvy_problem_make(&conv, CONVOY_FORWARD, x, w, 0, false, NULL, &problem),
                   CONVOY_OK);
  cvy_choice choice = {.row = 0};
  char name[64];
  convoy_context *context = open_named("fake", CONVOY_NO);
  for (int i = 1; i <= KERNELS; i++) {
    choice.params.value[0] = i;
    cvy_blackbox_before(context, &choice, &problem);
    snprintf(name, sizeof(name), "fake.tiled TILE=%d WORK=0 n1c1w9 k1s3 forward", i);
    assert_non_null(strstr(box_marker().first_use, name));
    cvy_blackbox_done(context, UINT64_MAX);
  }
  cvy_blackbox_before(context, &choice, &problem);
  assert_string_equal(box_marker().first_use, "");
  convoy_close(context);
}

/* Of a machine that has the same home folder: it may be in use there, at this moment. */
static void test_another_machine(void **state) {
  (void)state;
  char path[200], text[CVY_MARKER_TEXT];
  const cvy_marker marker = {
      .machine = "another", .boot = "of-its-own", .process = 1, .device = "Fake GPU One"};
  snprintf(path, sizeof(path), "%s/running/0123456789abcdef-1-0.txt", box.folder);
  cvy_marker_format(&marker, text);
  assert_int_equal(cvy_file_write(path, text, strlen(text)), CONVOY_OK);
  box_check_opens("fake:1");
  assert_int_equal(box_files("running"), 1);
  assert_int_equal(box_files("downs"), 0);
  assert_string_equal(box.logged, "");
}

/* What has a marker's name and is none stays, and is told of in one line; nothing is counted. */
static void test_garbage(void **state) {
  (void)state;
  char path[200];
  int files;
  const char *const texts[] = {"", "convoy-running 1\n", "convoy-running 2\nboot: boot-9\n",
                               "convoy-running 1\nboot: x\ndevice: \nprocess: 1\n",
                               "convoy-running 1\nboot: ../x\ndevice: d\nprocess: 1\n"};
  for (files = 0; files < (int)CVY_COUNT(texts); files++) {
    snprintf(path, sizeof(path), "%s/running/0123456789abcdef-%d-0.txt", box.folder, files);
    assert_int_equal(cvy_file_write(path, texts[files], strlen(texts[files])), CONVOY_OK);
  }
  box_check_opens("fake:1");
  assert_int_equal(box_files("running"), files);
  assert_int_equal(box_files("downs"), 0);
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged,
                         "-0-0.txt is no marker that this version of Convoy knows, "
                         "and others there"));
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_marker_is_kept, box_fresh),
      cmocka_unit_test_setup(test_one_first_use_at_a_time, box_fresh),
      cmocka_unit_test_setup(test_each_kernel_is_named, box_fresh),
      cmocka_unit_test_setup(test_another_machine, box_fresh),
      cmocka_unit_test_setup(test_killed_trainer_means_nothing, box_fresh),
      cmocka_unit_test_setup(test_two_trainers, box_fresh),
      cmocka_unit_test_setup(test_fork, box_fresh),
      cmocka_unit_test_setup(test_garbage, box_fresh),
      cmocka_unit_test_setup(test_marker_text, box_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
