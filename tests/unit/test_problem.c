/* src/problem/conv/legality.c: what is legal, which extents follow, and what refusals say. */
#include "problem/conv/conv.h"

#include <string.h>

#include "common/cmocka.h"
#include "common/random_case.h"
#include "ref/ref.h"

#define ROUNDS 5000

static bool counted_extents_exist(const convoy_conv *conv, const int64_t *y_shape) {
  for (int a = 0; a < conv->rank; a++)
    if (y_shape[2 + a] < 1) return false;
  return true;
}

/* Legal exactly when the counting reference finds a position on every axis; then extents agree. */
static void extents_agree_with_counting(void **state) {
  (void)state;
  test_random random = {1};
  int legal = 0;
  for (int i = 0; i < ROUNDS; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS], counted[CONVOY_MAX_DIMS];
    test_random_conv(&random, &conv, x, w);
    ref_output_shape(&conv, x, w, counted);
    const convoy_status status = cvy_output_shape(&conv, x, w, y);
    assert_int_equal(status, counted_extents_exist(&conv, counted) ? CONVOY_OK : CONVOY_ERR_SHAPE);
    if (status) continue;
    legal++;
    assert_memory_equal(y, counted, (size_t)(conv.rank + 2) * sizeof *y);
  }
  assert_in_range(legal, ROUNDS / 4, ROUNDS - 1);
}

/* (2 - 3) / 2 is 0 in C, so the usual formula would give one output. */
static void filter_larger_than_input_is_refused_at_every_stride(void **state) {
  (void)state;
  for (int64_t stride = 1; stride <= 4; stride++) {
    convoy_conv conv = CONVOY_CONV_INIT(2);
    conv.stride[0] = conv.stride[1] = stride;
    const int64_t x[] = {1, 1, 2, 2}, w[] = {1, 1, 3, 2};
    int64_t y[4] = {-1, -1, -1, -1};
    assert_int_equal(cvy_output_shape(&conv, x, w, y), CONVOY_ERR_SHAPE);
    assert_int_equal(y[2], -1);
    assert_non_null(strstr(cvy_last_error(), "axis h"));
  }
}

/* One change to a legal problem (x [2][6][9], w [4][3][3], groups 2) and what must come of it. */
typedef struct fault {
  const char *name;
  convoy_conv conv;
  int64_t x[3], w[3];
  convoy_status status;
  const char *mentions; /* must stand in the sentence */
} fault;

#define SIZE sizeof(convoy_conv)
#define BIG INT32_MAX

static const fault faults[] = {
    {"no struct_size",
     {0, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "struct_size is 0"},
    {"rank 0",
     {SIZE, 0, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "rank is 0"},
    {"rank 4",
     {SIZE, 4, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "rank is 4"},
    {"dtype",
     {SIZE, 1, 7, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "7"},
    {"transposed 2",
     {SIZE, 1, 0, 2, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "2"},
    {"groups 0",
     {SIZE, 1, 0, 0, 0, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "groups is 0"},
    {"groups -2",
     {SIZE, 1, 0, 0, -2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "-2"},
    {"stride 0",
     {SIZE, 1, 0, 0, 2, {0}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "stride of axis w is 0"},
    {"stride huge",
     {SIZE, 1, 0, 0, 2, {INT64_MAX}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "9223372036854775807"},
    {"dilation 0",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {0}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "dilation of axis w is 0"},
    {"padding -1",
     {SIZE, 1, 0, 0, 2, {1}, {-1}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "-1"},
    {"padding behind -3",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {-3}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "-3"},
    {"output padding untransposed",
     {SIZE, 1, 0, 0, 2, {2}, {0}, {0}, {1}, {1}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "output_padding"},
    {"output padding too large",
     {SIZE, 1, 0, 1, 2, {2}, {0}, {0}, {2}, {5}},
     {2, 6, 9},
     {6, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "5"},
    {"output padding negative",
     {SIZE, 1, 0, 1, 2, {2}, {0}, {0}, {2}, {-1}},
     {2, 6, 9},
     {6, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "-1"},
    {"batch -1",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {-1, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "-1"},
    {"no channels",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 0, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "0"},
    {"no width",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 0},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "0"},
    {"empty filter",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 0},
     CONVOY_ERR_SHAPE,
     "0"},
    {"no filters",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {0, 3, 3},
     CONVOY_ERR_SHAPE,
     "0"},
    {"groups do not divide K",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {5, 3, 3},
     CONVOY_ERR_SHAPE,
     "5"},
    {"groups do not divide C",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 7, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "7"},
    {"channels differ",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 8, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "8"},
    {"transposed channels differ",
     {SIZE, 1, 0, 1, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "transposed"},
    {"filter too large",
     {SIZE, 1, 0, 0, 2, {1}, {1}, {0}, {5}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "11"},
    {"nothing left of transposed",
     {SIZE, 1, 0, 1, 2, {1}, {6}, {5}, {1}, {0}},
     {2, 6, 9},
     {6, 3, 3},
     CONVOY_ERR_SHAPE,
     "6"},
    {"extent of x above 2^31 - 1",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2, 6, 2147483648},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "extent 2 of x is 2147483648, the largest legal is 2147483647"},
    {"batch above 2^31 - 1",
     {SIZE, 1, 0, 0, 2, {1}, {0}, {0}, {1}, {0}},
     {2147483648, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "extent 0 of x is 2147483648, the largest legal is 2147483647"},
    {"extent of w above 2^31 - 1",
     {SIZE, 1, 0, 0, 2, {1}, {BIG}, {BIG}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 2147483648},
     CONVOY_ERR_SHAPE,
     "extent 2 of w is 2147483648, the largest legal is 2147483647"},
    {"extent of y above 2^31 - 1",
     {SIZE, 1, 0, 1, 2, {BIG}, {0}, {0}, {1}, {0}},
     {2, 6, 2},
     {6, 3, 1},
     CONVOY_ERR_SHAPE,
     "extent 2 of y is 2147483648, the largest legal is 2147483647"},
    {"padding above 2^31 - 1",
     {SIZE, 1, 0, 0, 2, {1}, {2147483648}, {0}, {1}, {0}},
     {2, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_ARGUMENT,
     "pad_begin of axis w is 2147483648, legal are 0 to 2147483647"},
    {"bytes of x",
     {SIZE, 1, 0, 0, 1, {1}, {0}, {0}, {1}, {0}},
     {BIG, BIG, BIG},
     {1, BIG, 1},
     CONVOY_ERR_SHAPE,
     "byte count of x"},
    {"bytes of x hidden by N = 0",
     {SIZE, 1, 0, 0, 1, {1}, {0}, {0}, {1}, {0}},
     {0, BIG, BIG},
     {1, BIG, 1},
     CONVOY_ERR_SHAPE,
     "byte count of x"},
    {"bytes of w",
     {SIZE, 1, 0, 0, 1, {1}, {BIG}, {BIG}, {1}, {0}},
     {1, BIG, 1},
     {BIG, BIG, BIG},
     CONVOY_ERR_SHAPE,
     "byte count of w"},
    {"bytes of y",
     {SIZE, 1, 0, 1, 1, {BIG}, {0}, {0}, {1}, {0}},
     {BIG, 1, BIG},
     {1, BIG, 1},
     CONVOY_ERR_SHAPE,
     "y"},
    {"channels of all groups",
     {SIZE, 1, 0, 0, INT64_MAX, {1}, {0}, {0}, {1}, {0}},
     {1, 6, 9},
     {4, 3, 3},
     CONVOY_ERR_SHAPE,
     "9223372036854775807"},
};

static void faults_get_status_and_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(faults); i++) {
    const fault *f = &faults[i];
    cvy_problem problem, before;
    memset(&before, 0x5a, sizeof before);
    problem = before;
    const convoy_status status =
        cvy_conv_make(&f->conv, CONVOY_FORWARD, f->x, f->w, 0.0f, false, NULL, &problem);
    if (status != f->status)
      fail_msg("%s: %s, %s", f->name, cvy_status_name(status), cvy_last_error());
    if (strstr(cvy_last_error(), f->mentions) == NULL)
      fail_msg("%s: '%s' lacks '%s'", f->name, cvy_last_error(), f->mentions);
    assert_memory_equal(&problem, &before, sizeof before);
  }
}

static void sizes_of_the_limit_are_legal(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x[] = {1, 1, BIG}, w[] = {1, 1, BIG};
  int64_t y[3];
  assert_int_equal(cvy_output_shape(&conv, x, w, y), CONVOY_OK);
  assert_int_equal(y[2], 1);
}

static void beta_direction_and_epilogue_are_checked(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x[] = {1, 1, 5}, w[] = {1, 1, 2};
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  cvy_problem p;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_BACKWARD_DATA, x, w, 0.5f, false, NULL, &p),
                   CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "0.5"));
  assert_int_equal(cvy_conv_make(&conv, (convoy_direction)4, x, w, 0, false, NULL, &p),
                   CONVOY_ERR_ARGUMENT);
  epilogue.activation = 3;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, w, 0, false, &epilogue, &p),
                   CONVOY_ERR_ARGUMENT);
  epilogue = (convoy_epilogue){4, CONVOY_RELU, 0, 0};
  assert_int_equal(cvy_conv_make(&conv, CONVOY_FORWARD, x, w, 0, false, &epilogue, &p),
                   CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "struct_size is 4"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(extents_agree_with_counting),
      cmocka_unit_test(filter_larger_than_input_is_refused_at_every_stride),
      cmocka_unit_test(faults_get_status_and_numbers),
      cmocka_unit_test(sizes_of_the_limit_are_legal),
      cmocka_unit_test(beta_direction_and_epilogue_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
