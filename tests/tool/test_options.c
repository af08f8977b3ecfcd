/* The command line parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/exit_status.h"
#include "common/options.h"

typedef struct values {
  bool quick;
  const char *json;
  int samples;
  double seconds;
  words devices, shapes;
} values;

enum { ARGUMENTS_MOST = 12 };

/* The exit status, or -1 if the program is to go on. */
static int read_options(values *out, const char *const *arguments) {
  static const usage about = {"try", "A command for tests.", "example: none\n"};
  *out = (values){.samples = 10};
  const option table[] = {
      {"--quick", NULL, OPTION_FLAG, &out->quick, ""},
      {"--json", "FILE", OPTION_TEXT, &out->json, ""},
      {"--samples", "N", OPTION_COUNT, &out->samples, ""},
      {"--min-time", "S", OPTION_SECONDS, &out->seconds, ""},
      {"--device", "NAME,...", OPTION_WORDS, &out->devices, ""},
      {"--shapes", "FILE...", OPTION_FILES, &out->shapes, ""},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  char *argv[ARGUMENTS_MOST + 1] = {(char *)(uintptr_t) "try"};
  int argc = 1;
  for (int i = 0; arguments[i]; i++) argv[argc++] = (char *)(uintptr_t)arguments[i];
  int status = EXIT_FINE;
  return options_read(&about, table, argc, argv, &status) ? -1 : status;
}

#define ARGUMENTS(...) ((const char *const[ARGUMENTS_MOST]){__VA_ARGS__, NULL})

static void all_kinds(void **state) {
  (void)state;
  values got;
  assert_int_equal(
      read_options(&got, ARGUMENTS("--shapes", "a.csv", "b.csv", "--quick", "--json", "x",
                                   "--samples=3", "--min-time", "0.5", "--device=cpu,ocl:0")),
      -1);
  assert_true(got.quick);
  assert_string_equal(got.json, "x");
  assert_int_equal(got.samples, 3);
  assert_true(got.seconds == 0.5);
  assert_int_equal(got.devices.count, 2);
  assert_string_equal(got.devices.item[0], "cpu");
  assert_string_equal(got.devices.item[1], "ocl:0");
  assert_int_equal(got.shapes.count, 2);
  assert_string_equal(got.shapes.item[1], "b.csv");
}

static void repeated_lists_add_up(void **state) {
  (void)state;
  values got;
  assert_int_equal(read_options(&got, ARGUMENTS("--device", "cpu", "--device", "ocl:1,ocl:2")), -1);
  assert_int_equal(got.devices.count, 3);
  assert_string_equal(got.devices.item[2], "ocl:2");
}

static void nothing_given_leaves_defaults(void **state) {
  (void)state;
  values got;
  assert_int_equal(read_options(&got, (const char *const[ARGUMENTS_MOST]){NULL}), -1);
  assert_int_equal(got.samples, 10);
  assert_null(got.json);
  assert_int_equal(got.devices.count, 0);
}

static void help_ends_well(void **state) {
  (void)state;
  values got;
  assert_int_equal(read_options(&got, ARGUMENTS("--help")), EXIT_FINE);
  assert_int_equal(read_options(&got, ARGUMENTS("--quick", "-h")), EXIT_FINE);
}

static void bad_usage(void **state) {
  (void)state;
  const char *const *cases[] = {
      ARGUMENTS("--nothing"),
      ARGUMENTS("word"),
      ARGUMENTS("--quick=1"),
      ARGUMENTS("--json"),
      ARGUMENTS("--json="),
      ARGUMENTS("--samples"),
      ARGUMENTS("--samples", "0"),
      ARGUMENTS("--samples", "-3"),
      ARGUMENTS("--samples", "3x"),
      ARGUMENTS("--samples", "99999999999999999999"),
      ARGUMENTS("--min-time", "-1"),
      ARGUMENTS("--min-time", "nan"),
      ARGUMENTS("--min-time", "inf"),
      ARGUMENTS("--min-time", "1s"),
      ARGUMENTS("--device", ""),
      ARGUMENTS("--device", "cpu,"),
      ARGUMENTS("--device", ",cpu"),
      ARGUMENTS("--shapes"),
      ARGUMENTS("--quic"),
      ARGUMENTS("--quicker"),
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    values got;
    int status = read_options(&got, cases[i]);
    if (status != EXIT_USAGE) fail_msg("%s was taken, status %d", cases[i][0], status);
  }
}

static void too_many_words_are_refused(void **state) {
  (void)state;
  words list = {0};
  for (int i = 0; i < 64; i++) assert_true(words_add(&list, "ab", 2));
  assert_false(words_add(&list, "ab", 2));
  static char long_word[5000];
  words other = {0};
  assert_false(words_add(&other, long_word, sizeof long_word));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_kinds),
      cmocka_unit_test(repeated_lists_add_up),
      cmocka_unit_test(nothing_given_leaves_defaults),
      cmocka_unit_test(help_ends_well),
      cmocka_unit_test(bad_usage),
      cmocka_unit_test(too_many_words_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
