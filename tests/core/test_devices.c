/* Which device a name opens, and what happens when it cannot be opened. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static int reset(void **state) {
  (void)state;
  fake_reset();
  return 0;
}

static convoy_status open_status(const char *device, convoy_switch failover) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = device;
  options.failover = (int32_t)failover;
  convoy_status status = convoy_open(&options, &context);
  if (!status) convoy_close(context);
  return status;
}

/* --------------------------------------------------------------------------------- devices */

static void check_opens(const char *device, const char *id) {
  convoy_context *context = open_named(device, CONVOY_NO);
  convoy_device_info info = {.struct_size = sizeof(info)};
  assert_int_equal(convoy_context_device(context, &info), CONVOY_OK);
  assert_string_equal(info.id, id);
  convoy_close(context);
}

static void test_names(void **state) {
  (void)state;
  const struct {
    const char *wanted, *id;
  } rows[] = {{"auto", "fake:1"},      {"cpu", "cpu"},       {"fake", "fake:1"},
              {"fake:0", "fake:0"},    {"fake:1", "fake:1"}, {"gpu ONE", "fake:1"},
              {"procESS", "fake:0"},   {"AUTO", "fake:1"},   {" auto\t", "fake:1"},
              {"Fake", "fake:1"},      {"FAKE:0", "fake:0"}, {"\n fake:0 ", "fake:0"},
              {" gpu one ", "fake:1"}, {" ", "fake:1"},      {"", "fake:1"}};
  for (size_t i = 0; i < CVY_COUNT(rows); i++) check_opens(rows[i].wanted, rows[i].id);
  assert_int_equal(open_status("no such device", CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  assert_int_equal(open_status("fake:2", CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  assert_int_equal(fake_seen.opens, fake_seen.closes);
  fake.no_gpu = true;
  check_opens("auto", "cpu");
  check_opens("fake", "fake:0");
  fake.simulator = true;
  check_opens("fake", "fake:1");
}

/* Part of the CPU engine's own name opens it. */
static void test_cpu_by_name(void **state) {
  (void)state;
  convoy_device_info info[3] = {{.struct_size = sizeof(info[0])}};
  int32_t count;
  assert_int_equal(convoy_devices(NULL, info, 3, &count, NULL, 0), CONVOY_OK);
  check_opens(info[0].name, "cpu");
}

static const char *const cpu_names[] = {"cpu",   "CPU",   "Cpu",   "cpu ",    " cpu",
                                        "cpu\n", "cpu:0", "CPU:0", "\tcpu:0 "};

/* With cpu, however it is written, the other backends are not even asked. */
static void test_cpu_asks_nobody(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cpu_names); i++) {
    convoy_context *context = open_named(cpu_names[i], CONVOY_ON);
    float out[3];
    assert_int_equal(
        convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, NULL),
        CONVOY_OK);
    convoy_close(context);
    check_opens(cpu_names[i], "cpu");
    setenv("CONVOY_DEVICE", cpu_names[i], 1);
    check_opens(" ", "cpu"); /* blank: not given here */
    unsetenv("CONVOY_DEVICE");
  }
  assert_int_equal(fake_seen.lists, 0);
  assert_int_equal(fake_seen.opens, 0);
}

/* There is but one CPU engine, and it is nobody else's to say so. */
static void test_other_cpus_are_a_mistake(void **state) {
  (void)state;
  static const char *const wrong[] = {"cpu:1", "CPU:1", "cpu:", "cpu:00", "cpu:-1", "cpu: 0"};
  for (size_t i = 0; i < CVY_COUNT(wrong); i++) {
    assert_int_equal(open_status(wrong[i], CONVOY_NO), CONVOY_ERR_NOT_FOUND);
    assert_non_null(strstr(convoy_last_error(), wrong[i]));
    assert_non_null(strstr(convoy_last_error(), "what there is: cpu ("));
  }
  assert_int_equal(fake_seen.lists, 0);
}

/* A list for a program that runs on the CPU engine asks no driver either. */
static void test_cpu_lists_itself(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_device_info info[3] = {{.struct_size = sizeof(info[0])}};
  char why[64];
  int32_t count = 0;
  for (size_t i = 0; i < CVY_COUNT(cpu_names); i++) {
    options.device = cpu_names[i];
    assert_int_equal(convoy_devices(&options, info, 3, &count, why, sizeof(why)), CONVOY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(info[0].id, "cpu");
    assert_non_null(strstr(why, "not asked for, because the device is "));
  }
  setenv("CONVOY_DEVICE", "CPU", 1);
  assert_int_equal(convoy_devices(NULL, info, 3, &count, why, sizeof(why)), CONVOY_OK);
  assert_int_equal(count, 1);
  assert_int_equal(fake_seen.lists, 0);
  options.device = "auto";
  assert_int_equal(convoy_devices(&options, info, 3, &count, why, sizeof(why)), CONVOY_OK);
  assert_int_equal(count, 3);
  unsetenv("CONVOY_DEVICE");
}

static void test_list(void **state) {
  (void)state;
  convoy_device_info info[3] = {{.struct_size = sizeof(info[0])}};
  char why[200] = "x";
  int32_t count = 0;
  assert_int_equal(convoy_devices(NULL, NULL, 0, &count, NULL, 0), CONVOY_OK);
  assert_int_equal(count, 3);
  assert_int_equal(convoy_devices(NULL, info, 2, &count, why, sizeof(why)), CONVOY_OK);
  assert_int_equal(count, 3);
  assert_string_equal(why, "");
  assert_string_equal(info[0].id, "cpu");
  assert_string_equal(info[1].id, "fake:0");
  assert_string_equal(info[2].id, "");
  fake.list_status = CONVOY_ERR_DEVICE;
  assert_int_equal(convoy_devices(NULL, info, 3, &count, why, sizeof(why)), CONVOY_OK);
  assert_int_equal(count, 1);
  assert_non_null(strstr(why, "the script refuses to list; this machine has also had fake:0"));
  assert_int_equal(convoy_devices(NULL, info, -1, &count, NULL, 0), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_devices(NULL, info, 1, NULL, NULL, 0), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_devices(NULL, NULL, 1, &count, NULL, 0), CONVOY_ERR_ARGUMENT);
}

/* ---------------------------------------------------------------------------- what is told */

static void test_unknown_name_tells_the_known(void **state) {
  (void)state;
  char long_name[128];
  memset(long_name, 'x', sizeof(long_name));
  long_name[sizeof(long_name) - 1] = '\0';
  assert_int_equal(open_status("5600", CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  assert_non_null(strstr(convoy_last_error(), "no device is called \"5600\""));
  assert_non_null(
      strstr(convoy_last_error(), "fake:0 (Fake|Processor), fake:1 (Fake GPU One), cpu ("));
  assert_int_equal(open_status(long_name, CONVOY_NO), CONVOY_ERR_NOT_FOUND);
  assert_non_null(strstr(convoy_last_error(), "fake:1 (Fake GPU One), cpu ("));
}

typedef struct gpu_lines {
  int lines;
  char last[512];
} gpu_lines;

static void keep_line(void *user, convoy_log_level level, const char *line) {
  gpu_lines *to = user;
  if (level != CONVOY_LOG_INFO || !strstr(line, "no GPU is seen")) return;
  to->lines++;
  cvy_text_copy(to->last, sizeof(to->last), line);
}

/* One line for each context that takes the CPU because there is no GPU, none for one that asked for it. */
static void test_no_gpu_is_told(void **state) {
  (void)state;
  gpu_lines told = {0};
  convoy_set_log(keep_line, &told, CONVOY_LOG_INFO);
  check_opens("auto", "fake:1");
  fake.no_gpu = true;
  check_opens("cpu", "cpu");
  check_opens("fake:0", "fake:0");
  assert_int_equal(told.lines, 0);
  check_opens("auto", "cpu");
  assert_int_equal(told.lines, 1);
  assert_non_null(
      strstr(told.last, "the CPU computes: there is only fake:0 (Fake|Processor), fake:1"));
  fake.list_status = CONVOY_ERR_UNSUPPORTED;
  check_opens("auto", "cpu");
  assert_int_equal(told.lines, 2);
  assert_non_null(strstr(told.last, "the CPU computes: the script refuses to list"));
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
}

/* ------------------------------------------------------------------- what cannot be opened */

static void keep_event(void *user, const convoy_event *event) {
  *(convoy_event *)user = *event;
}

static void check_downgrade(const char *device, convoy_status status) {
  convoy_context *context = open_named(device, CONVOY_ON);
  convoy_event event = {0};
  convoy_device_info info = {.struct_size = sizeof(info)};
  assert_int_equal(convoy_context_device(context, &info), CONVOY_OK);
  assert_string_equal(info.id, "cpu");
  assert_int_equal(health_of(context).downgrades, 1);
  /* What happened before there was a callback is told once there is one. */
  assert_int_equal(convoy_set_event_callback(context, keep_event, &event), CONVOY_OK);
  assert_int_equal(event.kind, CONVOY_EVENT_DOWNGRADE);
  assert_int_equal(event.status, status);
  assert_non_null(strstr(event.message, device));
  float out[3];
  assert_int_equal(
      convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, NULL),
      CONVOY_OK);
  assert_int_equal(health_of(context).operations, 1);
  assert_int_equal(health_of(context).device_operations, 0);
  convoy_close(context);
}

static void test_downgrade(void **state) {
  (void)state;
  assert_int_equal(open_status("no such device", CONVOY_ON), CONVOY_ERR_NOT_FOUND);
  fake.open_status = CONVOY_ERR_DEVICE;
  assert_int_equal(open_status("fake:1", CONVOY_NO), CONVOY_ERR_DEVICE);
  check_downgrade("fake:1", CONVOY_ERR_DEVICE);
  fake.list_status = CONVOY_ERR_DEVICE;
  assert_int_equal(open_status("auto", CONVOY_NO), CONVOY_ERR_DEVICE);
  check_downgrade("auto", CONVOY_ERR_DEVICE);
  /* No OpenCL at all is no downgrade of auto. */
  fake.list_status = CONVOY_ERR_UNSUPPORTED;
  check_opens("auto", "cpu");
  fake.list_status = CONVOY_ERR_NOT_FOUND;
  check_opens("auto", "cpu");
  assert_int_equal(open_status("fake", CONVOY_NO), CONVOY_ERR_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_names, reset),
      cmocka_unit_test_setup(test_cpu_by_name, reset),
      cmocka_unit_test_setup(test_cpu_asks_nobody, reset),
      cmocka_unit_test_setup(test_other_cpus_are_a_mistake, reset),
      cmocka_unit_test_setup(test_cpu_lists_itself, reset),
      cmocka_unit_test_setup(test_list, reset),
      cmocka_unit_test_setup(test_unknown_name_tells_the_known, reset),
      cmocka_unit_test_setup(test_no_gpu_is_told, reset),
      cmocka_unit_test_setup(test_downgrade, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
