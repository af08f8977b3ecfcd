/* What is written and read is the same in every locale: where numbers have a comma, and where I and
 * i are no two cases of one letter. tests/CMakeLists.txt makes such locales, which few systems
 * have. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "convoy/state.h"
#include "core/faults/fault_table.h"
#include "core/tune/tunefile.h"
#include "program/literal.h"
#include "worker/deadline.h"

enum { TEXT = 1 << 14, MOST_LOCALES = 8 };

static const char *locale[MOST_LOCALES];
static int locales;

static const char record_line[] =
    "cpu.im2col | a card | 1.2 | k=00000000000000ff | n1c3h8w8 k4r3s3 pad1 forward | A=1 | 0.4125 "
    "ms\n";
static const char faults[] =
    "convoy-faults 1\na card | 1.2 | ocl.direct | n1c3h8w8 k4r3s3 pad1 forward | tuned | 2 | "
    "1800000000 | waited 1.5 s\n";
static const char program_text[] = "y = max(x * 1.5, 0.25) + 1e-10";

/* ------------------------------------------------------------------------------- writing */

static void take_line(void *to, convoy_log_level level, const char *line) {
  (void)level;
  cvy_text_add(to, "%s\n", line);
}

static void add_sentences(cvy_text *out) {
  convoy_context *context = NULL;
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device_wait_budget = -0.5;
  assert_int_equal(convoy_open(&options, &context), CONVOY_ERR_ARGUMENT);
  cvy_text_add(out, "%s\n", cvy_last_error());
  cvy_fail(CONVOY_ERR_IO, "%.3f and %g", 1234567.5, 1e-7);
  cvy_text_add(out, "%s\n%.2f %e %g %a\n", cvy_last_error(), 0.125, 1.5, 1e20, 0.5);
  convoy_set_log(take_line, out, CONVOY_LOG_WARNING);
  cvy_log(CONVOY_LOG_WARNING, "after %.1f s", 0.5);
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
}

static void add_program(cvy_text *out) {
  convoy_program *program = NULL;
  char text[256];
  assert_int_equal(convoy_program_parse(program_text, &program), CONVOY_OK);
  assert_int_equal(convoy_program_text(program, text, sizeof text), CONVOY_OK);
  convoy_program_free(program);
  cvy_text_add(out, "%s\n", text);
  for (float value = 1.1754944e-38f; value < 1e38f; value *= 1234.5f) {
    cvy_number_write(out, value);
    cvy_text_add(out, "\n");
  }
}

static void add_files(cvy_text *out) {
  char line[CVY_RECORD_TEXT], *text = malloc(CVY_FAULT_TABLE_TEXT);
  cvy_fault_table *table = malloc(sizeof *table);
  cvy_record record;
  assert_non_null(text);
  assert_non_null(table);
  cvy_text_copy(line, sizeof line, record_line);
  line[strlen(line) - 1] = '\0';
  assert_true(cvy_record_parse(line, &record));
  assert_true(record.milliseconds == 0.4125);
  assert_true(cvy_record_format(&record, line, sizeof line));
  assert_string_equal(line, record_line);
  cvy_fault_table_parse(faults, table);
  assert_int_equal(table->count, 1);
  cvy_fault_table_format(table, text, CVY_FAULT_TABLE_TEXT);
  assert_string_equal(text, faults);
  cvy_fault_table_describe(table, NULL, 1800000000, 3, text, CVY_FAULT_TABLE_TEXT);
  cvy_text_add(out, "%s", text);
  free(table);
  free(text);
}

static void add_all(cvy_text *out) {
  add_sentences(out);
  add_program(out);
  add_files(out);
  assert_false(out->overflow);
}

/* ------------------------------------------------------------------------------- reading */

static void read_numbers(void) {
  char *end;
  assert_true(cvy_double("1.5e3x", &end) == 1500 && *end == 'x');
  assert_true(cvy_double("1,5", &end) == 1 && *end == ',');
  assert_true(cvy_float("0.1", NULL) == 0.1f);
  cvy_deadlines deadlines;
  assert_int_equal(cvy_deadlines_parse("run=1.5,dispatch=0.25", &deadlines), CONVOY_OK);
  assert_true(deadlines.dispatch == 0.25);
  assert_int_equal(cvy_deadlines_parse("run=0,5", &deadlines), CONVOY_ERR_ARGUMENT);
}

/* With a comma a number is none, in any locale. */
static void read_environment(void) {
  static const struct {
    const char *name, *value;
    convoy_status status;
  } cases[] = {{"CONVOY_DEADLINE", "run=0.5,dispatch=0.25", CONVOY_OK},
               {"CONVOY_DEVICE_WAIT_BUDGET", "0.5", CONVOY_OK},
               {"CONVOY_DEVICE_WAIT_BUDGET", "0,5", CONVOY_ERR_ARGUMENT},
               {"CONVOY_CPU_STALL", "2.5", CONVOY_OK},
               {"CONVOY_CPU_STALL", "2,5", CONVOY_ERR_ARGUMENT},
               {"CONVOY_DEVICE", "CPU:0", CONVOY_OK},
               {"CONVOY_LOG", "WARNING", CONVOY_OK}};
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    convoy_context *context = NULL;
    convoy_options options = CONVOY_OPTIONS_INIT;
    if (strcmp(cases[i].name, "CONVOY_DEVICE") != 0) options.device = "cpu";
    setenv(cases[i].name, cases[i].value, 1);
    const convoy_status status = convoy_open(&options, &context);
    unsetenv(cases[i].name);
    if (status != cases[i].status)
      fail_msg("%s=%s: %s", cases[i].name, cases[i].value, convoy_last_error());
    convoy_close(context);
  }
}

static void read_letters(void) {
  assert_true(cvy_same("OCL:0 info", "ocl:0 INFO"));
  assert_false(cvy_same("info", "infos"));
  assert_false(cvy_same("infos", "info"));
  assert_true(cvy_has("NVIDIA Titan", "nvidia"));
  assert_true(cvy_has("NVIDIA Titan", "TITAN"));
  assert_true(cvy_has("", ""));
  assert_false(cvy_has("NVIDIA", "nvidia t"));
  assert_true(cvy_begins("hip:0", "HIP", 3));
  assert_false(cvy_begins("hi", "hip", 3));
  assert_false(cvy_same("\xdd", "i")); /* in ISO 8859-9 a capital of i, with its dot */
}

static void every_locale_is_the_same(void **state) {
  (void)state;
  static char plain[TEXT], other[TEXT];
  cvy_text out = cvy_text_in(plain, sizeof plain);
  add_all(&out);
  for (int i = 0; i < locales; i++) {
    assert_non_null(setlocale(LC_ALL, locale[i]));
    const char *point = localeconv()->decimal_point;
    print_message("%s: numbers with '%s', %.1f\n", locale[i], point, 0.5);
    out = cvy_text_in(other, sizeof other);
    add_all(&out);
    assert_string_equal(other, plain);
    read_numbers();
    read_environment();
    read_letters();
    assert_string_equal(localeconv()->decimal_point, point); /* the program's is as it was */
  }
  setlocale(LC_ALL, "C");
}

/* --------------------------------------------------------------------------------- files */

static char saved[64];

static convoy_state *state_of(convoy_context *context, convoy_tensor **tensor) {
  convoy_state *state = NULL;
  const int64_t shape[] = {3};
  assert_int_equal(convoy_tensor_new(context, 1, shape, tensor), CONVOY_OK);
  assert_int_equal(convoy_state_new(context, &state), CONVOY_OK);
  assert_int_equal(convoy_state_tensor(state, "\xc4\xb0\xc4\xb1 1,5", *tensor), CONVOY_OK);
  return state;
}

static const float values[] = {1.5f, -0.25f, 1e-20f};

static void write_state(convoy_context *context) {
  convoy_tensor *tensor = NULL;
  convoy_state *state = state_of(context, &tensor);
  assert_int_equal(convoy_tensor_write(tensor, values, 3), CONVOY_OK);
  assert_int_equal(convoy_state_save(state, saved), CONVOY_OK);
  convoy_state_free(state);
  convoy_tensor_free(tensor);
}

static void read_state(convoy_context *context) {
  float read[3];
  convoy_tensor *tensor = NULL;
  convoy_state *state = state_of(context, &tensor);
  assert_int_equal(convoy_state_load(state, saved, 0), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(tensor, read, 3), CONVOY_OK);
  assert_memory_equal(read, values, sizeof values);
  convoy_state_free(state);
  convoy_tensor_free(tensor);
}

static void count_line(void *to, convoy_log_level level, const char *line) {
  (void)level;
  print_message("%s\n", line);
  ++*(int *)to;
}

/* Each of them in each; no line of the tuning records that Convoy brings along is passed over. */
static void files_are_read_in_every_locale(void **state) {
  (void)state;
  int lines = 0;
  convoy_set_log(count_line, &lines, CONVOY_LOG_WARNING);
  for (int pair = 0; pair < locales * locales; pair++) {
    convoy_context *context = NULL;
    convoy_options options = CONVOY_OPTIONS_INIT;
    options.device = "cpu";
    assert_non_null(setlocale(LC_ALL, locale[pair / locales]));
    assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
    if (pair % locales == 0) write_state(context);
    assert_non_null(setlocale(LC_ALL, locale[pair % locales]));
    read_state(context);
    convoy_close(context);
  }
  convoy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  assert_int_equal(lines, 0);
  setlocale(LC_ALL, "C");
}

int main(void) {
  char names[256], *rest = names;
  const char *given = getenv("CONVOY_TEST_LOCALES");
  cvy_text_copy(names, sizeof names, given ? given : "C");
  while (locales < MOST_LOCALES && rest) locale[locales++] = strsep(&rest, " ");
  snprintf(saved, sizeof saved, "/tmp/convoy-locale-%d", (int)getpid());
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_locale_is_the_same),
                                     cmocka_unit_test(files_are_read_in_every_locale)};
  const int wrong = cmocka_run_group_tests(tests, NULL, NULL);
  remove(saved);
  if (wrong || given) return wrong;
  printf("skipped: no locale could be made here, and in C's own nothing is to be seen\n");
  return 77;
}
