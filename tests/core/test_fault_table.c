/* The table of faults and the names of shape classes, without device, file or clock. */
#include "core/faults/fault_table.h"

#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"
#include "problem/conv/conv.h"

static cvy_fault_table table;
static char text[CVY_FAULT_TABLE_TEXT], other[CVY_FAULT_TABLE_TEXT];

static const int64_t NOW = 1800000000;

static int reset(void **state) {
  (void)state;
  memset(&table, 0, sizeof table);
  return 0;
}

static void add(const char *algorithm, const char *shape_class, cvy_level level, int32_t count,
                int64_t at) {
  cvy_fault_entry entry = {
      .device = "A GPU", .driver = "1.0", .level = level, .count = count, .last = at};
  cvy_text_copy(entry.algorithm, sizeof entry.algorithm, algorithm);
  cvy_text_copy(entry.shape_class, sizeof entry.shape_class, shape_class);
  cvy_text_copy(entry.reason, sizeof entry.reason, "it hung");
  cvy_fault_table_add(&table, &entry);
}

static cvy_level level_at(const char *driver, const char *shape_class, int64_t now) {
  const cvy_fault_entry *why;
  cvy_level level =
      cvy_fault_table_level(&table, "A GPU", driver, shape_class, now, CVY_FAULT_LIMIT, &why);
  assert_int_equal(why == NULL, level == CVY_LEVEL_TUNED);
  return level;
}

static void three_faults_step_down(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    add("t", "c", CVY_LEVEL_TUNED, 1, NOW + i);
    assert_int_equal(level_at("1.0", "c", NOW + 9), CVY_LEVEL_TUNED);
  }
  add("u", "c", CVY_LEVEL_TUNED, 1, NOW + 2); /* another algorithm, the same class */
  assert_int_equal(level_at("1.0", "c", NOW + 9), CVY_LEVEL_CONSERVATIVE);
  assert_int_equal(level_at("1.0", "other", NOW + 9), CVY_LEVEL_TUNED);
  assert_int_equal(level_at("1.1", "c", NOW + 9), CVY_LEVEL_TUNED); /* a new driver starts afresh */
  add("d", "c", CVY_LEVEL_CONSERVATIVE, 2, NOW + 3);
  assert_int_equal(level_at("1.0", "c", NOW + 9), CVY_LEVEL_CONSERVATIVE);
  add("d", "c", CVY_LEVEL_CONSERVATIVE, 1, NOW + 3);
  assert_int_equal(level_at("1.0", "c", NOW + 9), CVY_LEVEL_CPU);
}

static void a_fault_without_a_class_counts_for_all(void **state) {
  (void)state;
  add("*", "*", CVY_LEVEL_TUNED, 2, NOW);
  add("t", "c", CVY_LEVEL_TUNED, 1, NOW);
  assert_int_equal(level_at("1.0", "c", NOW), CVY_LEVEL_CONSERVATIVE);
  assert_int_equal(level_at("1.0", "d", NOW), CVY_LEVEL_TUNED);
}

static void a_quiet_day_forgives(void **state) {
  (void)state;
  add("t", "c", CVY_LEVEL_TUNED, 3, NOW);
  assert_int_equal(level_at("1.0", "c", NOW + CVY_FAULT_QUIET - 1), CVY_LEVEL_CONSERVATIVE);
  assert_int_equal(level_at("1.0", "c", NOW + CVY_FAULT_QUIET), CVY_LEVEL_TUNED);
  add("t", "other", CVY_LEVEL_TUNED, 1, NOW + CVY_FAULT_QUIET); /* what is forgiven is dropped */
  assert_int_equal(table.count, 1);
}

/* A clock that was a year ahead once does not keep a device from use for a year. */
static void faults_of_the_future_are_of_now(void **state) {
  (void)state;
  add("t", "c", CVY_LEVEL_TUNED, 3, NOW + 365 * 86400);
  add("t", "other", CVY_LEVEL_TUNED, 1, NOW);
  assert_int_equal(level_at("1.0", "c", NOW), CVY_LEVEL_CONSERVATIVE);
  assert_int_equal(level_at("1.0", "c", NOW + CVY_FAULT_QUIET), CVY_LEVEL_TUNED);
}

/* Nor one that was never followed by another: a class that has gone to the CPU adds none. */
static void faults_of_the_far_future_are_forgiven(void **state) {
  (void)state;
  add("t", "c", CVY_LEVEL_TUNED, 3, NOW + 365 * 86400);
  assert_int_equal(level_at("1.0", "c", NOW), CVY_LEVEL_TUNED);
}

static void counts_do_not_overflow(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) add("t", "c", CVY_LEVEL_TUNED, INT32_MAX, NOW);
  assert_int_equal(table.count, 1);
  assert_int_equal(table.list[0].count, INT32_MAX);
}

static void a_full_list_loses_its_oldest(void **state) {
  (void)state;
  char name[16];
  for (int i = 0; i < CVY_FAULT_ENTRIES + 10; i++) {
    snprintf(name, sizeof name, "c%d", i);
    add("t", name, CVY_LEVEL_TUNED, 3, NOW + i);
  }
  assert_int_equal(table.count, CVY_FAULT_ENTRIES);
  assert_int_equal(level_at("1.0", "c9", NOW + 100), CVY_LEVEL_TUNED);
  assert_int_equal(level_at("1.0", "c10", NOW + 100), CVY_LEVEL_CONSERVATIVE);
}

static void text_there_and_back(void **state) {
  (void)state;
  static cvy_fault_table again;
  add("t", "c", CVY_LEVEL_TUNED, 2, NOW);
  cvy_fault_entry odd = {
      .device = "A | B\nC", .count = 1, .last = NOW, .level = CVY_LEVEL_CONSERVATIVE};
  cvy_fault_table_add(&table, &odd);
  cvy_fault_table_format(&table, text, sizeof text);
  cvy_fault_table_parse(text, &again);
  assert_int_equal(again.count, 2);
  assert_int_equal(again.skipped, 0);
  assert_string_equal(again.list[1].device, "A / B/C");
  assert_string_equal(again.list[1].reason, "-");
  cvy_fault_table_format(&again, other, sizeof other);
  assert_string_equal(text, other);
}

static void rubbish_is_skipped_and_counted(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int count, skipped;
  } rows[] = {
      {"", 0, 1},
      {"convoy-faults 2\n", 0, 1},
      {"convoy-faults 1\n", 0, 0},
      {"convoy-faults 1\nrubbish\n\na | b | c | d | tuned | 1 | 5 | r\n", 1, 1},
      {"convoy-faults 1\na | b | c | d | CPU | 1 | 5 | r\n", 0, 1},
      {"convoy-faults 1\na | b | c | d | tuned | -1 | 5 | r\n", 0, 1},
      {"convoy-faults 1\na | b | c | d | tuned | 1x | 5 | r\n", 0, 1},
      {"convoy-faults 1\na | b | c | d | tuned | 1 | 99999999999999999999 | r\n", 0, 1},
      {"convoy-faults 1\na | b | c | d | tuned | 1 | 5 | r | more\n", 0, 1},
      {"convoy-faults 1\n | b | c | d | tuned | 1 | 5 | r", 0, 1},
  };
  for (size_t i = 0; i < CVY_COUNT(rows); i++) {
    cvy_fault_table_parse(rows[i].text, &table);
    if (table.count == rows[i].count && table.skipped == rows[i].skipped) continue;
    fail_msg("%s: %d entries, %d skipped", rows[i].text, (int)table.count, (int)table.skipped);
  }
}

static void description_says_what_follows(void **state) {
  (void)state;
  add("t", "c", CVY_LEVEL_TUNED, 3, NOW);
  cvy_fault_table_describe(&table, "GPU", NOW + 3600, CVY_FAULT_LIMIT, text, sizeof text);
  assert_non_null(strstr(text, "A GPU (driver 1.0): 3 with t on c"));
  assert_non_null(
      strstr(text, "conservative algorithms only, forgiven in 23.0 h; last: it hung\n"));
  cvy_fault_table_describe(&table, NULL, NOW + 2 * CVY_FAULT_QUIET, CVY_FAULT_LIMIT, text,
                           sizeof text);
  assert_non_null(strstr(text, ": forgiven, forgiven in 0.0 h"));
  cvy_fault_table_describe(&table, "other", NOW, CVY_FAULT_LIMIT, text, sizeof text);
  assert_string_equal(text, "");
  cvy_fault_table_describe(&table, NULL, NOW, CVY_FAULT_LIMIT, text, 20); /* whole lines or none */
  assert_string_equal(text, "");
  cvy_fault_table_forget(&table, "other");
  assert_int_equal(table.count, 1);
  cvy_fault_table_forget(&table, "GPU");
  assert_int_equal(table.count, 0);
}

/* ---------------------------------------------------------------------------- shape classes */

static void check_class(const char *problem, const char *wanted) {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  cvy_problem p;
  char got[CVY_CLASS_TEXT];
  assert_int_equal(cvy_parse_problem(problem, &conv, x, w, &direction), CONVOY_OK);
  assert_int_equal(cvy_conv_make(&conv, direction, x, w, 0, false, NULL, &p), CONVOY_OK);
  cvy_shape_class(&p, got, sizeof got);
  if (strcmp(got, wanted) != 0) fail_msg("%s: %s, not %s", problem, got, wanted);
}

static void classes_have_names(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"n1c1w5 k1s1 forward", "forward_r1_c0_k0_in0,0,3_point_s1"},
      {"n9c1w5 k1s1 forward", "forward_r1_c0_k0_in0,0,3_point_s1"}, /* the batch does not matter */
      {"n1c64h80w80 k65r3s3 pad1 forward", "forward_r2_c6_k7_in0,7,7_small_s1_pad"},
      {"n1c64h81w80 k64r3s3 stride2 pad0:1 backward_data", "data_r2_c6_k6_in0,7,7_small_s2_pad"},
      {"n1c64h80w80 k64r5s1 stride5 dil2 groups64 backward_weights",
       "weights_r2_c0_k0_in0,7,7_large_s3_dil_depthwise"},
      {"n1c64z4h80w80 k64t1r1s1 groups2 forward", "forward_r3_c5_k5_in2,7,7_point_s1_grouped"},
      {"n1c3h8w8 k16r1s1 backward_bias", "bias_r2_c0_k4_in0,3,3_point_s1"},
  };
  for (size_t i = 0; i < CVY_COUNT(rows); i++) check_class(rows[i][0], rows[i][1]);
}

static void what_comes_on_top_is_part_of_the_class(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const convoy_epilogue relu = {sizeof relu, CONVOY_RELU, 0.0f, 0};
  const int64_t x[] = {1, 1, 5}, w[] = {1, 1, 1};
  cvy_problem p;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, w, 0, false, &relu, &p), CONVOY_OK);
  cvy_shape_class(&p, text, sizeof text);
  assert_string_equal(text, "forward_r1_c0_k0_in0,0,3_point_s1_act");
  assert_int_equal(cvy_conv_make(&conv, CONVOY_BACKWARD_DATA, x, w, 1, false, NULL, &p), CONVOY_OK);
  cvy_shape_class(&p, text, sizeof text);
  assert_string_equal(text, "data_r1_c0_k0_in0,0,3_point_s1_sum");
}

/* Also with the largest numbers there are. */
static void a_class_always_fits(void **state) {
  (void)state;
  cvy_problem p;
  memset(&p, 0x7f, sizeof p);
  p.operation = CONVOY_BACKWARD_WEIGHTS;
  p.conv.rank = 3;
  p.conv.groups = 2;
  for (int i = 0; i < 3; i++)
    p.conv.out[i] = p.conv.stride[i] = p.conv.dilation[i] = p.conv.filter[i] = 1 << 30;
  p.conv.pad[0] = 1;
  p.conv.x.aligned = p.conv.y.aligned = CVY_ARRAY_VIEW_MOST_ALIGNED;
  cvy_shape_class(&p, text, CVY_CLASS_TEXT);
  assert_non_null(strstr(text, "_pad_sum_act"));
}

/* Files have a problem that can be run, and mean its class. */
static void a_class_is_kept_as_one_of_its_problems(void **state) {
  (void)state;
  static const char plain[] = "n1c3w9 k4s3 pad1 forward",
                    other_of_it[] = "n7c3w12 k3s2 pad1 forward",
                    larger[] = "n1c3w17 k4s3 pad1 forward";
  char class_of[3][CVY_CLASS_TEXT];
  assert_true(cvy_class_of_example(plain, class_of[0], CVY_CLASS_TEXT));
  assert_true(cvy_class_of_example(other_of_it, class_of[1], CVY_CLASS_TEXT));
  assert_true(cvy_class_of_example(larger, class_of[2], CVY_CLASS_TEXT));
  assert_string_equal(class_of[0], class_of[1]);
  assert_string_not_equal(class_of[0], class_of[2]);
  snprintf(text, sizeof text,
           "convoy-faults 1\n"
           "A GPU | 1.0 | t | %s | tuned | 2 | %lld | it hung\n"
           "A GPU | 1.0 | t | %s | tuned | 2 | %lld | from an older file\n"
           "A GPU | 1.0 | t | %s, with bias or activation | tuned | 9 | %lld | it hung\n",
           plain, (long long)NOW, class_of[2], (long long)NOW, plain, (long long)NOW);
  cvy_fault_table_parse(text, &table);
  assert_int_equal(table.count, 3);
  cvy_fault_table_format(&table, other, sizeof other);
  assert_string_equal(other, text);
  assert_int_equal(level_at("1.0", class_of[0], NOW), CVY_LEVEL_TUNED);
  assert_int_equal(level_at("1.0", class_of[2], NOW), CVY_LEVEL_TUNED);

  cvy_fault_entry one_more = table.list[0];
  one_more.count = 1;
  strcpy(one_more.example, other_of_it);
  cvy_fault_table_add(&table, &one_more);
  assert_int_equal(table.count, 3); /* the same place, with its latest problem */
  assert_int_equal(level_at("1.0", class_of[1], NOW), CVY_LEVEL_CONSERVATIVE);
  cvy_fault_table_describe(&table, NULL, NOW, CVY_FAULT_LIMIT, text, sizeof text);
  assert_non_null(strstr(text, "3 with t on n7c3w12 k3s2 pad1 forward: conservative"));
  add("t", class_of[2], CVY_LEVEL_TUNED, 1, NOW);
  assert_int_equal(level_at("1.0", class_of[2], NOW), CVY_LEVEL_CONSERVATIVE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(three_faults_step_down, reset),
      cmocka_unit_test_setup(a_class_is_kept_as_one_of_its_problems, reset),
      cmocka_unit_test_setup(a_fault_without_a_class_counts_for_all, reset),
      cmocka_unit_test_setup(a_quiet_day_forgives, reset),
      cmocka_unit_test_setup(faults_of_the_future_are_of_now, reset),
      cmocka_unit_test_setup(faults_of_the_far_future_are_forgiven, reset),
      cmocka_unit_test_setup(counts_do_not_overflow, reset),
      cmocka_unit_test_setup(a_full_list_loses_its_oldest, reset),
      cmocka_unit_test_setup(text_there_and_back, reset),
      cmocka_unit_test_setup(rubbish_is_skipped_and_counted, reset),
      cmocka_unit_test_setup(description_says_what_follows, reset),
      cmocka_unit_test_setup(classes_have_names, reset),
      cmocka_unit_test_setup(what_comes_on_top_is_part_of_the_class, reset),
      cmocka_unit_test_setup(a_class_always_fits, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
