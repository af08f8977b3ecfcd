/* src/problem/conv/shape_text.c: problems as text, both ways. */
#include <string.h>

#include "common/cmocka.h"
#include "common/random_case.h"
#include "problem/conv/conv.h"

static void assert_same(const convoy_conv *a, const convoy_conv *b) {
  const size_t axes = (size_t)a->rank * sizeof(int64_t);
  assert_int_equal(a->rank, b->rank);
  assert_int_equal(a->transposed, b->transposed);
  assert_int_equal(a->groups, b->groups);
  assert_memory_equal(a->stride, b->stride, axes);
  assert_memory_equal(a->pad_begin, b->pad_begin, axes);
  assert_memory_equal(a->pad_end, b->pad_end, axes);
  assert_memory_equal(a->dilation, b->dilation, axes);
  assert_memory_equal(a->output_padding, b->output_padding, axes);
}

static void random_problems_come_back(void **state) {
  (void)state;
  test_random random = {3};
  for (int i = 0; i < 5000; i++) {
    convoy_conv conv, read;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], x_read[CONVOY_MAX_DIMS],
        w_read[CONVOY_MAX_DIMS];
    char text[CONVOY_PROBLEM_TEXT];
    const convoy_direction direction = (convoy_direction)test_between(&random, 0, 3);
    convoy_direction direction_read;
    test_random_conv(&random, &conv, x, w);
    if (cvy_format_problem(&conv, x, w, direction, text, sizeof text)) continue;
    if (cvy_parse_problem(text, &read, x_read, w_read, &direction_read))
      fail_msg("'%s': %s", text, cvy_last_error());
    assert_same(&conv, &read);
    assert_memory_equal(x, x_read, (size_t)(conv.rank + 2) * sizeof *x);
    assert_memory_equal(w, w_read, (size_t)(conv.rank + 2) * sizeof *w);
    assert_int_equal(direction, direction_read);
  }
}

static void example_of_the_header(void **state) {
  (void)state;
  static const char example[] = "n2c6h17w14 k4r3s4 stride2,5 pad1:0,3 dil4,2 groups2 forward";
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  char text[CONVOY_PROBLEM_TEXT];
  assert_int_equal(cvy_parse_problem(example, &conv, x, w, &direction), CONVOY_OK);
  const int64_t expected_x[] = {2, 6, 17, 14}, expected_w[] = {4, 3, 3, 4};
  assert_memory_equal(x, expected_x, sizeof expected_x);
  assert_memory_equal(w, expected_w, sizeof expected_w);
  assert_int_equal(conv.pad_begin[0], 1);
  assert_int_equal(conv.pad_end[0], 0);
  assert_int_equal(conv.pad_begin[1], 3);
  assert_int_equal(conv.pad_end[1], 3);
  assert_int_equal(cvy_format_problem(&conv, x, w, direction, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, example);
}

static void transposed_weights_follow_from_both_channels(void **state) {
  (void)state;
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  assert_int_equal(
      cvy_parse_problem("n1c6w5 k4s3 groups2 transposed backward_weights", &conv, x, w, &direction),
      CONVOY_OK);
  assert_int_equal(w[0], 6);
  assert_int_equal(w[1], 2);
  assert_int_equal(direction, CONVOY_BACKWARD_WEIGHTS);
}

static const struct {
  const char *text;
  convoy_status status;
} broken[] = {
    {"", CONVOY_ERR_ARGUMENT},
    {"forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 ", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 sideways", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 forward ", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 forwards", CONVOY_ERR_ARGUMENT},
    {" n1c1w5 k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5  k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5\tk1s3 forward", CONVOY_ERR_ARGUMENT},
    {"N1C1W5 K1S3 forward", CONVOY_ERR_ARGUMENT},
    {"c1n1w5 k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1z5w5 k1t1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1h5w5 k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1r2s3 forward", CONVOY_ERR_ARGUMENT},
    {"n-1c1w5 k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n+1c1w5 k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w99999999999999999999 k1s3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 pad2 stride1 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 stride1,2 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1h5w5 k1r1s3 stride1,2,3 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1z5h5w5 k1t1r1s3 stride1,2 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 stride1: forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 pad1: forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 pad:1 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 groups1,1 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 stride0 forward", CONVOY_ERR_ARGUMENT},
    {"n1c1w5 k1s3 outpad1 forward", CONVOY_ERR_ARGUMENT},
    {"n1c0w5 k1s3 forward", CONVOY_ERR_SHAPE},
    {"n1c1w5 k1s6 forward", CONVOY_ERR_SHAPE},
    {"n1c4w5 k3s1 groups2 forward", CONVOY_ERR_SHAPE},
    {"n1c4w5 k4s1 groups0 forward", CONVOY_ERR_SHAPE},
    {"n1c1w4294967296 k1s1 forward", CONVOY_ERR_SHAPE},
};

static void broken_text_is_refused_and_writes_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(broken); i++) {
    convoy_conv conv = {.struct_size = 77};
    int64_t x[CONVOY_MAX_DIMS] = {-7}, w[CONVOY_MAX_DIMS] = {-7};
    convoy_direction direction = CONVOY_BACKWARD_BIAS;
    const convoy_status status = cvy_parse_problem(broken[i].text, &conv, x, w, &direction);
    if (status != broken[i].status)
      fail_msg("'%s': %s, %s", broken[i].text, cvy_status_name(status), cvy_last_error());
    assert_int_equal(conv.struct_size, 77);
    assert_int_equal(x[0], -7);
    assert_int_equal(w[0], -7);
    assert_int_equal(direction, CONVOY_BACKWARD_BIAS);
  }
}

static void the_place_of_the_fault_is_told(void **state) {
  (void)state;
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  cvy_parse_problem("n1c1w5 k1q3 forward", &conv, x, w, &direction);
  assert_non_null(strstr(cvy_last_error(), "character 9"));
  assert_non_null(strstr(cvy_last_error(), "q3 forward"));
}

/* Every number as long as it can be. */
static void the_longest_problem_fits(void **state) {
  (void)state;
  static const char longest[] =
      "n99999999c2147483647z2h2w2 k2147483647t1r1s1 "
      "stride2147483647,2147483646,2147483647 "
      "pad2147483647:2147483646,2147483646:2147483645,2147483647:2147483645 "
      "dil2147483647,2147483646,2147483647 groups2147483647 transposed "
      "outpad2147483646,2147483645,2147483645 backward_weights";
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  char text[CONVOY_PROBLEM_TEXT];
  const convoy_status status = cvy_parse_problem(longest, &conv, x, w, &direction);
  if (status) fail_msg("%s", cvy_last_error());
  assert_int_equal(cvy_format_problem(&conv, x, w, direction, text, sizeof text), CONVOY_OK);
  assert_string_equal(text, longest);
}

static void too_little_room_is_refused(void **state) {
  (void)state;
  static const char exact[] = "n1c1w5 k1s3 forward";
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  char text[sizeof exact] = "before";
  assert_int_equal(cvy_parse_problem(exact, &conv, x, w, &direction), CONVOY_OK);
  assert_int_equal(cvy_format_problem(&conv, x, w, direction, text, sizeof exact - 1),
                   CONVOY_ERR_ARGUMENT);
  assert_string_equal(text, "before");
  assert_int_equal(cvy_format_problem(&conv, x, w, direction, text, sizeof exact), CONVOY_OK);
  assert_string_equal(text, exact);
  assert_int_equal(cvy_format_problem(&conv, x, w, (convoy_direction)9, text, sizeof exact),
                   CONVOY_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_problems_come_back),
      cmocka_unit_test(example_of_the_header),
      cmocka_unit_test(transposed_weights_follow_from_both_channels),
      cmocka_unit_test(broken_text_is_refused_and_writes_nothing),
      cmocka_unit_test(the_place_of_the_fault_is_told),
      cmocka_unit_test(the_longest_problem_fits),
      cmocka_unit_test(too_little_room_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
