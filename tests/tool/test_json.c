/* JSON lines: what is written is read back, and what is no JSON ends the reading. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/result.h"
#include "common/json.h"

static bench_result example(void) {
  bench_result line = bench_result_new();
  strcpy(line.table, "net");
  strcpy(line.shape, "first");
  strcpy(line.pass, "backward_data");
  strcpy(line.device, "ocl:0");
  strcpy(line.device_name, "a \"card\" \\ with\ttab");
  strcpy(line.requested, "auto");
  strcpy(line.status, "ok");
  line.count = 3;
  line.workspace_bytes = INT64_C(5000000000);
  line.median_ms = 1.25;
  line.gflops = 123.456789;
  return line;
}

static void written(const bench_result *line, char **text) {
  size_t size = 0;
  FILE *to = open_memstream(text, &size);
  assert_non_null(to);
  bench_result_write(to, line);
  fclose(to);
}

static void a_result_comes_back(void **state) {
  (void)state;
  bench_result line = example();
  char *text = NULL;
  written(&line, &text);
  bench_result back;
  assert_true(bench_result_read(text, &back));
  assert_string_equal(back.device_name, line.device_name);
  assert_string_equal(back.pass, line.pass);
  assert_int_equal(back.count, 3);
  assert_int_equal(back.workspace_bytes, line.workspace_bytes);
  assert_true(back.median_ms == 1.25);
  assert_true(fabs(back.gflops - line.gflops) < 1e-6);
  assert_true(isnan(back.transfers_ms)); /* written as null */
  assert_true(bench_result_ok(&back));
  free(text);
}

/* A text of CONVOY_PROBLEM_TEXT bytes, as the longest problem may have. */
static void the_longest_problem_comes_back(void **state) {
  (void)state;
  bench_result line = example(), back;
  memset(line.problem, 'p', sizeof line.problem - 1);
  assert_int_equal(sizeof line.problem, CONVOY_PROBLEM_TEXT);
  char *text = NULL;
  written(&line, &text);
  assert_true(bench_result_read(text, &back));
  assert_string_equal(back.problem, line.problem);
  free(text);
}

static void one_result_is_one_line(void **state) {
  (void)state;
  bench_result line = example();
  char *text = NULL;
  written(&line, &text);
  assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
  free(text);
}

/* JSON is UTF-8, whatever bytes a text of the machine's has: U+FFFD stands for those that are none.
 */
static void other_bytes_are_replaced(void **state) {
  (void)state;
  static const struct {
    const char *text, *read;
  } cases[] = {
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8c", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8c"},
      {"caf\xe9!", "caf\xef\xbf\xbd!"},
      {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* cut */
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* longer than need be */
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half a pair */
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* above all */
      {"\xff\"", "\xef\xbf\xbd\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bench_result line = example(), back;
    strcpy(line.device_name, cases[i].text);
    char *text = NULL;
    written(&line, &text);
    assert_true(bench_result_read(text, &back));
    assert_string_equal(back.device_name, cases[i].read);
    free(text);
  }
}

static void nested_members_are_passed_over(void **state) {
  (void)state;
  const char *at = "{\"a\": {\"b\": [1, \"}\"], \"c\": 2}, \"d\": true, \"e\": -2.5e1, \"f\": [] }";
  json_member one;
  assert_true(json_next(&at, &one));
  assert_int_equal(one.kind, JSON_OTHER);
  assert_true(json_next(&at, &one));
  assert_string_equal(one.key, "d");
  assert_int_equal(one.kind, JSON_OTHER);
  assert_true(json_next(&at, &one));
  assert_string_equal(one.key, "e");
  assert_int_equal(one.kind, JSON_NUMBER);
  assert_true(one.number == -25.0);
  assert_true(json_next(&at, &one));
  assert_false(json_next(&at, &one));
}

static void other_text_is_no_result(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "\n",
      "# a report",
      "{",
      "{}",
      "{\"type\"",
      "{\"type\": ",
      "{\"type\": \"line",
      "{\"type\": \"head\", \"version\": \"1\"}",
      "{\"table\": \"x\"}",
      "{\"a\": {\"b\": 1",
      "[1, 2]",
      "{\"a\": \"\\",
      "{\"type\": ?}",
  };
  bench_result back;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (bench_result_read(texts[i], &back)) fail_msg("taken for a result: %s", texts[i]);
}

static void a_long_text_is_cut(void **state) {
  (void)state;
  char text[2048] = "{\"type\": \"line\", \"table\": \"";
  size_t used = strlen(text);
  memset(text + used, 'x', 1500);
  strcpy(text + used + 1500, "\", \"shape\": \"s\"}");
  bench_result back;
  assert_true(bench_result_read(text, &back));
  assert_int_equal(strlen(back.table), sizeof back.table - 1);
  assert_string_equal(back.shape, "s");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_result_comes_back),      cmocka_unit_test(the_longest_problem_comes_back),
      cmocka_unit_test(one_result_is_one_line),   cmocka_unit_test(nested_members_are_passed_over),
      cmocka_unit_test(other_bytes_are_replaced), cmocka_unit_test(other_text_is_no_result),
      cmocka_unit_test(a_long_text_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
