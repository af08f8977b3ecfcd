/* Tuning files that come with the library, in share/convoy/tune beside it: here beside this
 * program, which has the library inside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/case.h"
#include "common/cmocka.h"
#include "common/device.h"
#include "core/tune/tunefile.h"
#include "os/os.h"

static const char problem_text[] = "n1c4h6w6 k8r3s3 pad1 forward";
static test_case problem;
static char file[4096];

/* What would run on the device, with a file that has one record; NULL: with no file. */
static void plan_with(const char *line, convoy_plan *out) {
  convoy_context *context;
  convoy_device_info device;
  char text[2048];
  snprintf(text, sizeof text, "convoy-tune 1\n%s", line ? line : "");
  if (line) assert_int_equal(cvy_file_write(file, text, strlen(text)), CONVOY_OK);
  assert_int_equal(test_open("pocl", &context, &device), 0);
  *out = (convoy_plan){.struct_size = sizeof *out};
  assert_int_equal(convoy_plan_problem(context, NULL, &problem.conv, CONVOY_FORWARD,
                                       problem.x_shape, problem.w_shape, out),
                   CONVOY_OK);
  convoy_close(context);
  unlink(file);
}

/* A record of this device, made with another driver and other kernels. */
static void format(const char *algorithm, const char *params, char *line, size_t size) {
  convoy_context *context;
  cvy_facts facts = {.local_memory_bytes = 0};
  cvy_record record = {.hash = 1, .milliseconds = 1};
  assert_int_equal(test_open("pocl", &context, &facts.info), 0);
  convoy_close(context);
  cvy_record_place(&facts, &record);
  cvy_text_copy(record.driver, sizeof record.driver, "another");
  assert_int_equal(cvy_problem_make(&problem.conv, CONVOY_FORWARD, problem.x_shape, problem.w_shape,
                                    0, false, NULL, &record.problem),
                   CONVOY_OK);
  cvy_text_copy(record.algorithm, sizeof record.algorithm, algorithm);
  cvy_text_copy(record.params, sizeof record.params, params);
  assert_true(cvy_record_format(&record, line, size));
}

static void a_shipped_choice_is_used_with_any_driver(void **state) {
  (void)state;
  char line[1024];
  convoy_plan plan;
  plan_with(NULL, &plan);
  assert_string_equal(plan.algorithm, "ocl.implicit_gemm");
  format("ocl.direct", "", line, sizeof line);
  plan_with(line, &plan);
  assert_string_equal(plan.algorithm, "ocl.direct");
  format("ocl.implicit_gemm", "BM=16 BN=16 BK=8 TM=4 TN=4 SLICES=1 SPACE=2", line, sizeof line);
  plan_with(line, &plan);
  assert_string_equal(plan.parameters, "BM=16 BN=16 BK=8 TM=4 TN=4 SLICES=1 SPACE=2");
}

static void what_the_kernels_do_not_have_is_void(void **state) {
  (void)state;
  char line[1024];
  convoy_plan defaults, plan;
  plan_with(NULL, &defaults);
  static const char *const params[] = {"BM=16 BN=16 BK=8 TM=4 TN=4 SLICES=1 SPACE=2 OLD=1",
                                       "BM=16 BN=16 BK=8 TM=4 TN=4 SLICES=1 SPACE=3"};
  for (size_t i = 0; i < CVY_COUNT(params); i++) {
    format("ocl.implicit_gemm", params[i], line, sizeof line);
    plan_with(line, &plan);
    assert_string_equal(plan.parameters, defaults.parameters);
  }
}

static void the_users_may_turn_it_off(void **state) {
  (void)state;
  char line[1024];
  convoy_plan plan;
  format("ocl.direct", "", line, sizeof line);
  setenv("CONVOY_TUNE", "0", 1);
  plan_with(line, &plan);
  unsetenv("CONVOY_TUNE");
  assert_string_equal(plan.algorithm, "ocl.implicit_gemm");
}

/* share/convoy/tune/test.txt beside this program. */
static bool find_place(void) {
  const ssize_t length = readlink("/proc/self/exe", file, sizeof file - 64);
  if (length < 0) return false;
  file[length] = 0;
  strcpy(strrchr(file, '/'), "/share/convoy/tune/test.txt");
  return true;
}

int main(void) {
  convoy_context *context;
  convoy_device_info device;
  const int opened = test_open("pocl", &context, &device);
  if (opened) return opened;
  convoy_close(context);
  if (!find_place() || !test_case_parse(problem_text, &problem)) return EXIT_FAILURE;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_shipped_choice_is_used_with_any_driver),
      cmocka_unit_test(what_the_kernels_do_not_have_is_void),
      cmocka_unit_test(the_users_may_turn_it_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
