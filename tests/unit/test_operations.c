/* src/problem: what rows say of their problems, for every operation there is. */
#include "problem/operation.h"

#include <string.h>

#include "common/cmocka.h"
#include "common/random_case.h"
#include "problem/conv/conv.h"

static void every_row_is_whole(void **state) {
  (void)state;
  assert_int_equal(cvy_operation_count, CVY_OPERATIONS);
  for (int32_t i = 0; i < cvy_operation_count; i++) {
    const cvy_operation *row = cvy_operations[i];
    assert_non_null(row);
    for (int32_t j = 0; j < i; j++) assert_string_not_equal(row->name, cvy_operations[j]->name);
    const cvy_family *family = row->family;
    assert_true(family->size > CVY_PROBLEM_HEAD && family->size <= sizeof(cvy_problem));
    assert_int_equal(family->size % 8, 0);
    assert_true((row->inputs || row->given > 0) && row->input && row->output);
    assert_true(family->legal && family->element && family->terms && family->flops);
    assert_true(family->print && family->shape_class && family->images && family->set_images);
    assert_true(row->bound || !row->absolute);
  }
}

/* What holds for any problem that a call has made. */
static void check_problem(const cvy_problem *problem) {
  char text[CVY_EXAMPLE_TEXT], again[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], same[CVY_CLASS_TEXT];
  cvy_problem other;
  int32_t reads = cvy_problem_reads(problem), outputs = cvy_problem_outputs(problem);
  assert_true(cvy_problem_legal(problem));
  assert_in_range(cvy_problem_inputs(problem), 1, CVY_MAX_INPUTS);
  assert_in_range(outputs, 1, CVY_MAX_OUTPUTS);
  for (int32_t i = 0; i < reads; i++) assert_non_null(cvy_problem_input_name(problem, i));
  for (int32_t i = 0; i < outputs; i++) assert_non_null(cvy_problem_output_name(problem, i));
  for (int32_t i = 0; i < outputs; i++) {
    cvy_array array = cvy_problem_output(problem, i);
    if (cvy_problem_batch(problem) == CVY_BATCH_INDEPENDENT) assert_true(array.per_image);
    if (array.per_image) assert_int_equal(array.extent[0], cvy_problem_images(problem));
  }
  cvy_class_example(problem, text, sizeof text);
  assert_true(cvy_problem_read(text, &other));
  assert_true(cvy_problem_same(problem, &other));
  cvy_class_example(&other, again, sizeof again);
  assert_string_equal(text, again);
  cvy_shape_class(problem, class, sizeof class);
  assert_true(cvy_class_of_example(text, same, sizeof same));
  assert_string_equal(class, same);
}

static void check_y(const convoy_conv *conv, const int64_t *x, const int64_t *w,
                    const cvy_problem *problem) {
  int64_t wanted[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
  assert_int_equal(cvy_output_shape(conv, x, w, wanted), CONVOY_OK);
  cvy_conv_y_shape(problem, y);
  assert_memory_equal(y, wanted, (size_t)(conv->rank + 2) * sizeof *y);
}

static void check_part(const cvy_problem *problem) {
  cvy_problem part;
  cvy_problem_copy(&part, problem);
  cvy_problem_set_images(&part, 1);
  assert_false(cvy_problem_equal(problem, &part) && cvy_problem_images(problem) != 1);
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    cvy_array whole = cvy_problem_input(problem, i), one = cvy_problem_input(&part, i);
    int64_t images = whole.per_image ? cvy_problem_images(problem) : 1;
    assert_int_equal(cvy_array_bytes(&whole), cvy_array_bytes(&one) * images);
  }
  cvy_problem_set_images(&part, 0);
  assert_true(cvy_problem_empty(&part));
  assert_int_equal(cvy_problem_zeroes(&part, 0),
                   cvy_problem_batch(problem) == CVY_BATCH_SUMMED && !problem->accumulate);
}

/* Rows say of arrays what the family's own counts say. */
static void check_arrays(const cvy_problem *problem) {
  int64_t total = 0;
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    int64_t count = cvy_conv_count(problem, cvy_conv_in(problem, i));
    assert_int_equal(cvy_problem_input_bytes(problem, i), count * 4);
    total += count * 4;
  }
  int64_t out = cvy_conv_count(problem, cvy_conv_out(problem)) * 4;
  assert_int_equal(cvy_problem_output_bytes(problem, 0), out);
  total += out * (1 + problem->accumulate);
  assert_true(cvy_problem_bytes(problem) == (double)total);
}

static void convolutions_as_their_rows_say(void **state) {
  (void)state;
  test_random random = {5};
  int checked = 0;
  for (int i = 0; i < 4000; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
    cvy_problem p;
    memset(&p, 0x5a, sizeof p);
    test_random_conv(&random, &conv, x, w);
    convoy_direction direction = (convoy_direction)(i % CONVOY_DIRECTIONS);
    bool adds = direction != CONVOY_FORWARD && i % 3 == 0;
    bool bias = direction == CONVOY_FORWARD && i % 5 == 0;
    if (cvy_conv_make(&conv, direction, x, w, adds ? 1.0f : 0.0f, bias, NULL, &p)) continue;
    check_problem(&p);
    check_part(&p);
    check_arrays(&p);
    if (direction != CONVOY_BACKWARD_BIAS) check_y(&conv, x, w, &p);
    checked++;
  }
  assert_true(checked > 1000);
}

static void bytes_of_others_are_refused(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  cvy_problem good, bad;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_BACKWARD_WEIGHTS, (int64_t[]){2, 3, 9},
                                 (int64_t[]){4, 3, 2}, 1.0f, false, NULL, &good),
                   CONVOY_OK);
  assert_true(cvy_problem_legal(&good));
  for (int32_t operation = -2; operation < 70; operation++) {
    bad = good;
    bad.operation = operation;
    bool family = operation >= 0 && operation < CVY_CONV_OPERATIONS;
    assert_int_equal(cvy_problem_legal(&bad), family); /* nor are its bytes a program */
  }
  bad = good;
  bad.accumulate = 2;
  assert_false(cvy_problem_legal(&bad));
  bad = good;
  bad.conv.has_bias = 1; /* gradients of weights have none */
  assert_false(cvy_problem_legal(&bad));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_whole),
      cmocka_unit_test(convolutions_as_their_rows_say),
      cmocka_unit_test(bytes_of_others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
