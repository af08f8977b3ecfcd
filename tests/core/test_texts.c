/* Input as text: tuning records, parameters, options. None of it is trusted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/options.h"
#include "core/tune/params.h"
#include "core/tune/tunedisk.h"
#include "os/os.h"

/* --------------------------------------------------------------------------------- records */

static const char good_line[] =
    "ocl.x | A card | 1.2 (b) | k=00000000deadbeef | n1c2h3w4 k5r1s2 pad0:1 forward | A=1 B=2 | "
    "0.412 ms";

static void test_record_there_and_back(void **state) {
  (void)state;
  cvy_record record;
  char line[1024];
  assert_true(cvy_record_parse(good_line, &record));
  assert_string_equal(record.algorithm, "ocl.x");
  assert_string_equal(record.device, "A card");
  assert_string_equal(record.driver, "1.2 (b)");
  assert_int_equal(record.problem.conv.in[2], 4);
  assert_string_equal(record.params, "A=1 B=2");
  assert_true(record.hash == 0xdeadbeef);
  assert_true(record.milliseconds == 0.412);
  assert_true(cvy_record_format(&record, line, sizeof(line)));
  assert_int_equal(strlen(line), strlen(good_line) + 1);
  assert_int_equal(strncmp(line, good_line, strlen(good_line)), 0);
  assert_false(cvy_record_format(&record, line, 20));
}

/* To the last line, as it is. */
static void test_the_shipped_file(void **state) {
  (void)state;
  cvy_records records;
  size_t count;
  char *text;
  assert_int_equal(cvy_file_read(SHIPPED, CVY_FILE_INSTALLED, 1 << 24, &text, &count), CONVOY_OK);
  assert_int_equal(cvy_records_parse(text, &records), CONVOY_OK);
  assert_int_equal(records.skipped, 0);
  char *again = cvy_records_format(&records);
  assert_non_null(again);
  assert_string_equal(again, text);
  cvy_records_free(&records);
  free(again);
  free(text);
}

static const char longest_problem[] =
    "n99999999c2147483647z2h2w2 k2147483647t1r1s1 stride2147483647,2147483646,2147483647 "
    "pad2147483647:2147483646,2147483646:2147483645,2147483647:2147483645 "
    "dil2147483647,2147483646,2147483647 groups2147483647 transposed "
    "outpad2147483646,2147483645,2147483645 backward_weights";

/* Records of which everything is as long as it can be: none is lost. */
static void test_the_longest_records(void **state) {
  (void)state;
  cvy_record record;
  cvy_records records = {0}, again;
  char line[CVY_RECORD_TEXT], name[128];
  memset(name, 'x', 127);
  name[127] = '\0';
  snprintf(line, sizeof(line), "%.31s | %s | %s | k=00000000deadbeef | %s | %s | 1 ms", name, name,
           name, longest_problem, name);
  assert_true(cvy_record_parse(line, &record));
  for (int i = 0; i < 3; i++) {
    record.driver[0] = (char)('a' + i);
    assert_int_equal(cvy_records_put(&records, &record), CONVOY_OK);
  }
  char *text = cvy_records_format(&records);
  assert_non_null(text);
  assert_int_equal(cvy_records_parse(text, &again), CONVOY_OK);
  assert_int_equal(again.count, 3);
  assert_non_null(strstr(text, longest_problem));
  cvy_records_free(&records);
  cvy_records_free(&again);
  free(text);
}

/* A name may not break its line apart. */
static void test_record_with_bars(void **state) {
  (void)state;
  cvy_record record, again;
  char line[1024];
  assert_true(cvy_record_parse(good_line, &record));
  strcpy(record.device, "A | B\nC");
  record.params[0] = '\0';
  assert_true(cvy_record_format(&record, line, sizeof(line)));
  line[strlen(line) - 1] = '\0';
  assert_true(cvy_record_parse(line, &again));
  assert_string_equal(again.device, "A / B/C");
  assert_string_equal(again.params, "");
}

static void test_record_refused(void **state) {
  (void)state;
#define BEFORE "a | b | c | k=1 | "
#define PROBLEM "n1c1w5 k1s3 forward"
  static const char *const lines[] = {
      "",
      "nothing",
      " |  |  |  |  | ",
      BEFORE PROBLEM " | e",
      BEFORE PROBLEM " | e | 1 ms | f",
      "a | b | c | 1 | " PROBLEM " | e | 1 ms",
      "a | b | c | k= | " PROBLEM " | e | 1 ms",
      "a | b | c | k=1x | " PROBLEM " | e | 1 ms",
      "a | b | c | k=12345678901234567 | " PROBLEM " | e | 1 ms",
      BEFORE PROBLEM " | e | 1",
      BEFORE PROBLEM " | e | ms",
      BEFORE PROBLEM " | e | -1 ms",
      BEFORE PROBLEM " | e | nan ms",
      BEFORE PROBLEM " | e | inf ms",
      BEFORE "d | e | 1 ms",
      BEFORE PROBLEM "s | e | 1 ms",
      BEFORE "n1c1w5 k1s6 forward | e | 1 ms",
      BEFORE
      "n1c1k1_in1,1,5_filter1,1,3_out1,1,3_stride1,1,1_pad0,0,0_dil1,1,1_groups1_forward"
      " | e | 1 ms",
      BEFORE "n1c1k1_in1,1,5 | e | 1 ms",
      "an.algorithm.with.far.too.long.a.name | b | c | k=1 | " PROBLEM " | e | 1 ms",
  };
  cvy_record record;
  for (size_t i = 0; i < CVY_COUNT(lines); i++) {
    if (cvy_record_parse(lines[i], &record)) fail_msg("accepted: %s", lines[i]);
  }
  assert_true(cvy_record_parse(BEFORE PROBLEM " | e | 1 ms", &record));
  char longest[2000];
  memset(longest, 'x', sizeof(longest) - 1);
  longest[sizeof(longest) - 1] = '\0';
  assert_false(cvy_record_parse(longest, &record));
}

static void check_records(const char *text, int count, int skipped) {
  cvy_records records;
  assert_int_equal(cvy_records_parse(text, &records), CONVOY_OK);
  assert_int_equal(records.count, count);
  assert_int_equal(records.skipped, skipped);
  cvy_records_free(&records);
}

static void test_files(void **state) {
  (void)state;
  char text[40000];
  check_records("", 0, 1);
  check_records("convoy-tune 2\n", 0, 1);
  check_records("convoy-tune 1", 0, 1);
  check_records("convoy-tune 1\n", 0, 0);
  snprintf(text, sizeof(text), "convoy-tune 1\n%s\nrubbish\n\n%s", good_line, good_line);
  check_records(text, 2, 1); /* the last line needs no end */
  size_t used = (size_t)snprintf(text, sizeof(text), "convoy-tune 1\n");
  for (int i = 0; i < 100; i++) {
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", good_line);
  }
  memset(text + used, 'x', 3000); /* a line longer than any record */
  text[used + 3000] = '\0';
  check_records(text, 100, 1);
}

static int log_lines;
static void count_line(void *user, convoy_log_level level, const char *line) {
  (void)user;
  (void)level;
  log_lines += strstr(line, "1 tuning records, 2 lines skipped") != NULL;
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* Wrong lines cost one line of log, a missing file none. */
static void test_load(void **state) {
  (void)state;
  char folder[] = "/tmp/convoy-test-XXXXXX", path[64], text[512];
  cvy_records records;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof(path), "%s/records.txt", folder);
  setenv("CONVOY_TUNE_FILE", path, 1);
  convoy_set_log(count_line, NULL, CONVOY_LOG_WARNING);
  cvy_records_load(&records);
  assert_int_equal(records.count + log_lines, 0);
  snprintf(text, sizeof(text), "convoy-tune 1\na\nb\n%s\n", good_line);
  write_file(path, text);
  cvy_records_load(&records);
  assert_int_equal(records.count, 1);
  assert_int_equal(log_lines, 1);
  cvy_records_free(&records);
  unlink(path);

  /* Without the variable: tune.txt of the configuration folder. */
  unsetenv("CONVOY_TUNE_FILE");
  setenv("XDG_CONFIG_HOME", folder, 1);
  cvy_records_load(&records);
  assert_int_equal(records.count, 0);
  unsetenv("XDG_CONFIG_HOME");
  char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
  unsetenv("HOME");
  cvy_records_load(&records);
  assert_int_equal(records.count, 0);
  if (home) setenv("HOME", home, 1);
  free(home);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  rmdir(folder);
}

/* ------------------------------------------------------------------------------ parameters */

static const cvy_param two_params[] = {{"A", {1, 2}}, {"BIG", {16, 32, 64}}, {NULL, {0}}};
static const cvy_algorithm with_params = {.name = "t.with", .params = two_params};
static const cvy_algorithm without_params = {.name = "t.without"};

static void test_params(void **state) {
  (void)state;
  static const char *const refused[] = {"",          "A=1",        "A=1 BIG=17",  "A=1  BIG=16",
                                        "BIG=16",    "A=1,BIG=16", "A=1 BIG=16 ", "A=1 BIG=16 C=1",
                                        "A= BIG=16", "a=1 BIG=16", "A=1x BIG=16", "A=0 BIG=16"};
  cvy_params params;
  char text[64];
  assert_true(cvy_params_parse(&with_params, "A=2 BIG=64", &params));
  assert_int_equal(params.value[0], 2);
  assert_int_equal(params.value[1], 64);
  cvy_params_text(&with_params, &params, text, sizeof(text));
  assert_string_equal(text, "A=2 BIG=64");
  for (size_t i = 0; i < CVY_COUNT(refused); i++) {
    if (cvy_params_parse(&with_params, refused[i], &params)) fail_msg("accepted: %s", refused[i]);
  }
  assert_true(cvy_params_parse(&without_params, "", &params));
  assert_false(cvy_params_parse(&without_params, "A=1", &params));
  cvy_params_text(&without_params, &params, text, sizeof(text));
  assert_string_equal(text, "");
  assert_true(cvy_params_hash(&with_params) != cvy_params_hash(&without_params));
}

/* --------------------------------------------------------------------------------- options */

static const char *const variables[] = {
    "CONVOY_DEVICE",  "CONVOY_ALGORITHM", "CONVOY_ISOLATION",      "CONVOY_FAILOVER",
    "CONVOY_THREADS", "CONVOY_TUNE",      "CONVOY_WORKSPACE_LIMIT"};

static int clean_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(variables); i++) unsetenv(variables[i]);
  return 0;
}

static void test_option_defaults(void **state) {
  (void)state;
  cvy_options options;
  assert_int_equal(cvy_options_resolve(NULL, &options), CONVOY_OK);
  assert_string_equal(options.device, "auto");
  assert_string_equal(options.algorithm, "");
  assert_true(options.failover && options.tune && !options.require_device);
  assert_int_equal(options.open.isolation, CONVOY_ISOLATION_PROCESS);
  assert_int_equal(options.open.threads, 0);
  assert_int_equal(options.open.workspace_limit, 1 << 30);
  assert_int_equal(options.open.memory_limit, 0);
}

static void test_option_environment(void **state) {
  (void)state;
  static const char *const values[] = {"ocl:1", "ocl.direct", "none", "0", "3", "off", "64M"};
  convoy_options given = CONVOY_OPTIONS_INIT;
  cvy_options options;
  for (size_t i = 0; i < CVY_COUNT(variables); i++) setenv(variables[i], values[i], 1);
  assert_int_equal(cvy_options_resolve(&given, &options), CONVOY_OK);
  assert_string_equal(options.device, "ocl:1");
  assert_string_equal(options.algorithm, "ocl.direct");
  assert_false(options.failover || options.tune);
  assert_int_equal(options.open.isolation, CONVOY_ISOLATION_NONE);
  assert_int_equal(options.open.threads, 3);
  assert_int_equal(options.open.workspace_limit, 64 << 20);

  setenv("CONVOY_MEMORY_LIMIT", "2G", 1);
  assert_int_equal(cvy_options_resolve(&given, &options), CONVOY_OK);
  assert_int_equal(options.open.memory_limit, INT64_C(2) << 30);
  unsetenv("CONVOY_MEMORY_LIMIT");

  setenv("CONVOY_THREADS", "0", 1); /* as if it were not set */
  setenv("CONVOY_WORKSPACE_LIMIT", "0", 1);
  assert_int_equal(cvy_options_resolve(&given, &options), CONVOY_OK);
  assert_int_equal(options.open.threads, 0);
  assert_int_equal(options.open.workspace_limit, 1 << 30);

  /* Blanks around a name are no part of it, and nothing else is no name. */
  setenv("CONVOY_DEVICE", " my card\n", 1);
  setenv("CONVOY_ALGORITHM", " \t", 1);
  assert_int_equal(cvy_options_resolve(&given, &options), CONVOY_OK);
  assert_string_equal(options.device, "my card");
  assert_string_equal(options.algorithm, "");

  /* The struct goes before the environment. */
  given.device = " cpu";
  given.algorithm = "cpu.direct ";
  given.failover = given.tune = CONVOY_ON;
  given.isolation = CONVOY_ISOLATION_PROCESS;
  given.threads = 5;
  given.workspace_limit = 1000;
  assert_int_equal(cvy_options_resolve(&given, &options), CONVOY_OK);
  assert_string_equal(options.device, "cpu");
  assert_string_equal(options.algorithm, "cpu.direct");
  assert_true(options.failover && options.tune);
  assert_int_equal(options.open.isolation, CONVOY_ISOLATION_PROCESS);
  assert_int_equal(options.open.threads, 5);
  assert_int_equal(options.open.workspace_limit, 1000);
}

static void check_refused(const convoy_options *given, const char *named) {
  cvy_options options;
  assert_int_equal(cvy_options_resolve(given, &options), CONVOY_ERR_ARGUMENT);
  if (!strstr(convoy_last_error(), named)) fail_msg("%s: %s", named, convoy_last_error());
}

static void test_options_refused(void **state) {
  (void)state;
  const convoy_options fresh = CONVOY_OPTIONS_INIT;
  convoy_options given = fresh;
  given.struct_size = 8;
  check_refused(&given, "struct_size");
  given = fresh, given.reserved = 1;
  check_refused(&given, "reserved");
  given = fresh, given.reserved3 = 1;
  check_refused(&given, "reserved3 1");
  given = fresh, given.require_device = 3;
  check_refused(&given, "require_device is 3");
  given = fresh, given.isolation = 4;
  check_refused(&given, "isolation");
  given = fresh, given.failover = -1;
  check_refused(&given, "failover");
  given = fresh, given.tune = 3;
  check_refused(&given, "tune");
  given = fresh, given.threads = -4;
  check_refused(&given, "threads is -4");
  given = fresh, given.workspace_limit = -1;
  check_refused(&given, "workspace_limit");
  given = fresh, given.memory_limit = -1;
  check_refused(&given, "memory_limit");
  char name[200];
  memset(name, 'x', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  given = fresh, given.device = name;
  check_refused(&given, "options.device");
  given = fresh, given.algorithm = name;
  check_refused(&given, "options.algorithm");

  static const char *const wrong[] = {NULL, NULL, "maybe", "2", "many", "yes", "-1"};
  for (size_t i = 2; i < CVY_COUNT(wrong); i++) {
    setenv(variables[i], wrong[i], 1);
    check_refused(NULL, variables[i]);
    convoy_context *context = NULL;
    assert_int_equal(convoy_open(NULL, &context), CONVOY_ERR_ARGUMENT);
    unsetenv(variables[i]);
  }
  assert_int_equal(convoy_open(NULL, NULL), CONVOY_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_record_there_and_back),
      cmocka_unit_test(test_the_shipped_file),
      cmocka_unit_test(test_the_longest_records),
      cmocka_unit_test(test_record_with_bars),
      cmocka_unit_test(test_record_refused),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_load),
      cmocka_unit_test(test_params),
      cmocka_unit_test_setup_teardown(test_option_defaults, clean_environment, clean_environment),
      cmocka_unit_test_setup_teardown(test_option_environment, clean_environment,
                                      clean_environment),
      cmocka_unit_test_setup_teardown(test_options_refused, clean_environment, clean_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
