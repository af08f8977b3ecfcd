/* Opening, listing, asking: options out of range, names that are not there, structs too small. */
#include <stdlib.h>

#include "shared_context.h"

static convoy_options cpu_options(void) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  options.failover = CONVOY_NO;
  return options;
}

static void expect_open_refused(const char *what, const convoy_options *options,
                                convoy_status status, const char *mentions) {
  convoy_context *opened = NULL;
  expect_refusal(what, convoy_open(options, &opened), status, mentions);
  assert_null(opened);
}

static void bad_options_are_named(void **state) {
  (void)state;
  const convoy_options good = cpu_options();
  convoy_options o = good;
  o.struct_size = 6;
  expect_open_refused("size", &o, CONVOY_ERR_ARGUMENT, "6");
  o = good;
  o.isolation = 4;
  expect_open_refused("isolation", &o, CONVOY_ERR_ARGUMENT, "isolation");
  o = good;
  o.failover = -1;
  expect_open_refused("failover", &o, CONVOY_ERR_ARGUMENT, "failover");
  o = good;
  o.tune = 17;
  expect_open_refused("tune", &o, CONVOY_ERR_ARGUMENT, "17");
  o = good;
  o.threads = -4;
  expect_open_refused("threads", &o, CONVOY_ERR_ARGUMENT, "-4");
  o = good;
  o.workspace_limit = -1;
  expect_open_refused("workspace", &o, CONVOY_ERR_ARGUMENT, "workspace_limit");
  o = good;
  o.device = "no such device";
  expect_open_refused("device", &o, CONVOY_ERR_NOT_FOUND, "no such device");
  expect_refusal("NULL", convoy_open(&good, NULL), CONVOY_ERR_ARGUMENT, "out");
}

static void bad_environment_is_named(void **state) {
  (void)state;
  static const struct {
    const char *name, *value;
    convoy_status status;
  } cases[] = {{"CONVOY_THREADS", "many", CONVOY_ERR_ARGUMENT},
               {"CONVOY_THREADS", "-1", CONVOY_ERR_ARGUMENT},
               {"CONVOY_ISOLATION", "perhaps", CONVOY_ERR_ARGUMENT},
               {"CONVOY_TUNE", "maybe", CONVOY_ERR_ARGUMENT},
               {"CONVOY_WORKSPACE_LIMIT", "1X", CONVOY_ERR_ARGUMENT},
               {"CONVOY_FAULT_LIMIT", "x", CONVOY_ERR_ARGUMENT},
               {"CONVOY_FAULT_LIMIT", "-1", CONVOY_ERR_ARGUMENT},
               {"CONVOY_RUNTIMES", "opencl", CONVOY_ERR_ARGUMENT},
               {"CONVOY_CPU_ISA", "sse9", CONVOY_ERR_ARGUMENT},
               {"CONVOY_LOG", "loud", CONVOY_ERR_ARGUMENT}};
  const convoy_options options = cpu_options();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    setenv(cases[i].name, cases[i].value, 1);
    expect_open_refused(cases[i].name, &options, cases[i].status, cases[i].name);
    unsetenv(cases[i].name);
  }
}

/* Under the name it had in an earlier version a variable would be passed over in silence. */
static void former_names_are_refused_with_the_new_ones(void **state) {
  (void)state;
  static const struct {
    const char *old, *now;
  } names[] = {{"CONVOY_BUILDERS", "CONVOY_COMPILE_WORKERS"},
               {"CONVOY_STRIKE_LIMIT", "CONVOY_FAULT_LIMIT"}};
  const convoy_options options = cpu_options();
  char text[64];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    setenv(names[i].old, "2", 1);
    expect_open_refused(names[i].old, &options, CONVOY_ERR_ARGUMENT, names[i].old);
    expect_open_refused(names[i].old, &options, CONVOY_ERR_ARGUMENT, names[i].now);
    expect_refusal(names[i].old, convoy_fault_table(NULL, text, sizeof text), CONVOY_ERR_ARGUMENT,
                   names[i].now);
    setenv(names[i].old, "", 1); /* counts as not set */
    assert_int_equal(convoy_fault_table(NULL, text, sizeof text), CONVOY_OK);
    unsetenv(names[i].old);
  }
}

/* Whichever device is opened; failover, which is on, hides none of the program's own mistakes. */
static void bad_deadlines_are_named(void **state) {
  (void)state;
  static const char *const devices[] = {"auto", "ocl", "ocl:0", "5600", "cpu"};
  convoy_options options = CONVOY_OPTIONS_INIT;
  setenv("CONVOY_DEADLINE", "run=abc", 1);
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    options.device = devices[i];
    expect_open_refused(devices[i], &options, CONVOY_ERR_ARGUMENT, "CONVOY_DEADLINE");
  }
  unsetenv("CONVOY_DEADLINE");
}

static void algorithms_are_found_by_name_only(void **state) {
  (void)state;
  expect_refusal("unknown", convoy_set_algorithm(context, "cpu.no_such"), CONVOY_ERR_NOT_FOUND,
                 "cpu.no_such");
  expect_refusal("of another backend", convoy_set_algorithm(context, "ocl.direct"),
                 CONVOY_ERR_NOT_FOUND, "ocl.direct");
  expect_refusal("no context", convoy_set_algorithm(NULL, "cpu.direct"), CONVOY_ERR_ARGUMENT,
                 "context");
  assert_int_equal(convoy_set_algorithm(context, convoy_algorithm_name(context, 0)), CONVOY_OK);
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  assert_int_equal(convoy_set_algorithm(context, ""), CONVOY_OK);
}

static void the_table_of_algorithms_ends(void **state) {
  (void)state;
  int32_t rows = 0;
  while (convoy_algorithm_name(context, rows) != NULL) rows++;
  assert_in_range(rows, 1, 1000);
  assert_null(convoy_algorithm_name(context, rows + 1));
  assert_null(convoy_algorithm_name(context, -1));
  assert_null(convoy_algorithm_name(context, INT32_MIN));
  assert_null(convoy_algorithm_name(NULL, 0));
}

static void plans_are_checked_like_operations(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x[] = {1, 1, 4}, w[] = {1, 1, 2}, large[] = {1, 1, 5};
  convoy_plan plan = {.struct_size = sizeof plan}, small = {.struct_size = 4};
  expect_refusal("unknown",
                 convoy_plan_problem(context, "cpu.no_such", &conv, CONVOY_FORWARD, x, w, &plan),
                 CONVOY_ERR_NOT_FOUND, "cpu.no_such");
  expect_refusal("shape",
                 convoy_plan_problem(context, NULL, &conv, CONVOY_FORWARD, x, large, &plan),
                 CONVOY_ERR_SHAPE, "5");
  expect_refusal("direction",
                 convoy_plan_problem(context, NULL, &conv, (convoy_direction)4, x, w, &plan),
                 CONVOY_ERR_ARGUMENT, "4");
  expect_refusal("size", convoy_plan_problem(context, NULL, &conv, CONVOY_FORWARD, x, w, &small),
                 CONVOY_ERR_ARGUMENT, "4");
  expect_refusal("no out", convoy_plan_problem(context, NULL, &conv, CONVOY_FORWARD, x, w, NULL),
                 CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("no conv", convoy_plan_problem(context, NULL, NULL, CONVOY_FORWARD, x, w, &plan),
                 CONVOY_ERR_ARGUMENT, "conv");
  for (int d = 0; d < CONVOY_DIRECTIONS; d++) {
    assert_int_equal(convoy_plan_problem(context, NULL, &conv, (convoy_direction)d, x, w, &plan),
                     CONVOY_OK);
    assert_int_equal(plan.accepted, 1);
    assert_true(plan.algorithm[0] != '\0' && plan.reason[0] == '\0');
  }
}

static void structs_to_fill_are_checked(void **state) {
  (void)state;
  convoy_device_info info = {.struct_size = 20};
  convoy_health health = {.struct_size = 7};
  int32_t count = 0;
  expect_refusal("device", convoy_context_device(context, &info), CONVOY_ERR_ARGUMENT, "20");
  expect_refusal("device NULL", convoy_context_device(context, NULL), CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("health", convoy_get_health(context, &health), CONVOY_ERR_ARGUMENT, "7");
  expect_refusal("health NULL", convoy_get_health(context, NULL), CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("devices", convoy_devices(NULL, &info, 1, &count, NULL, 0), CONVOY_ERR_ARGUMENT,
                 "20");
  expect_refusal("devices NULL", convoy_devices(NULL, NULL, 1, &count, NULL, 0),
                 CONVOY_ERR_ARGUMENT, "NULL");
  expect_refusal("count NULL", convoy_devices(NULL, NULL, 0, NULL, NULL, 0), CONVOY_ERR_ARGUMENT,
                 "count");
  expect_refusal("capacity", convoy_devices(NULL, &info, -1, &count, NULL, 0), CONVOY_ERR_ARGUMENT,
                 "-1");
}

static void contexts_may_be_null_where_it_says_so(void **state) {
  (void)state;
  convoy_close(NULL);
  convoy_interrupt(NULL);
  expect_refusal("sync", convoy_sync(NULL), CONVOY_ERR_ARGUMENT, "context");
  expect_refusal("callback", convoy_set_event_callback(NULL, NULL, NULL), CONVOY_ERR_ARGUMENT,
                 "context");
  expect_refusal("peak", convoy_measure_peak(NULL, NULL, NULL), CONVOY_ERR_ARGUMENT, "context");
}

static void host_memory_is_aligned_zero_and_may_be_nothing(void **state) {
  (void)state;
  void *memory = &memory;
  expect_refusal("no out", convoy_host_alloc(context, 8, NULL), CONVOY_ERR_ARGUMENT, "out");
  assert_int_equal(convoy_host_alloc(context, 0, &memory), CONVOY_OK);
  assert_null(memory);
  assert_int_equal(convoy_host_alloc(context, 10000, &memory), CONVOY_OK);
  assert_int_equal((uintptr_t)memory % 4096, 0);
  for (int i = 0; i < 10000; i++) assert_int_equal(((const unsigned char *)memory)[i], 0);
  convoy_host_free(context, memory);
  convoy_host_free(context, NULL);
  assert_int_equal(convoy_host_alloc(context, SIZE_MAX, &memory), CONVOY_ERR_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_options_are_named),
      cmocka_unit_test(bad_environment_is_named),
      cmocka_unit_test(former_names_are_refused_with_the_new_ones),
      cmocka_unit_test(bad_deadlines_are_named),
      cmocka_unit_test(algorithms_are_found_by_name_only),
      cmocka_unit_test(the_table_of_algorithms_ends),
      cmocka_unit_test(plans_are_checked_like_operations),
      cmocka_unit_test(structs_to_fill_are_checked),
      cmocka_unit_test(contexts_may_be_null_where_it_says_so),
      cmocka_unit_test(host_memory_is_aligned_zero_and_may_be_nothing),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
