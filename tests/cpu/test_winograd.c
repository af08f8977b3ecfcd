/* Which problems cpu.winograd is chosen for, and whether it keeps its bound on data made to break
 * it: values of very different size next to each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/case.h"
#include "common/cmocka.h"
#include "common/random.h"
#include "ref/ref.h"

static const char *const many_channels = "n4c32h40w40 k32r3s3 pad1 forward";

static convoy_context *open_with(convoy_switch winograd, const char *algorithm) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "cpu";
  options.algorithm = algorithm;
  options.threads = 2;
  options.tune = CONVOY_NO;
  options.winograd = (int32_t)winograd;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

static convoy_plan plan_of(convoy_context *context, const char *name, const char *text) {
  convoy_plan plan = {.struct_size = sizeof plan};
  test_case p;
  assert_true(test_case_parse(text, &p));
  assert_int_equal(
      convoy_plan_problem(context, name, &p.conv, p.direction, p.x_shape, p.w_shape, &plan),
      CONVOY_OK);
  return plan;
}

static void chosen_where_it_pays(void **state) {
  (void)state;
  convoy_context *context = open_with(CONVOY_DEFAULT, NULL);
  convoy_plan plan = plan_of(context, NULL, many_channels);
  assert_string_equal(plan.algorithm, "cpu.winograd");
  assert_true(plan.error_growth > 0 && plan.error_reach > 0);
  plan = plan_of(context, NULL, "n8c512h7w7 k512r3s3 pad1 backward_data");
  assert_string_equal(plan.algorithm, "cpu.winograd");
  plan = plan_of(context, NULL, "n4c3h40w40 k32r3s3 pad1 forward");
  assert_string_not_equal(plan.algorithm, "cpu.winograd");
  assert_true(plan.error_growth == 0);
  convoy_close(context);
}

static void check_forbidden(convoy_context *context) {
  convoy_plan plan = plan_of(context, NULL, many_channels);
  assert_int_equal(plan.accepted, 1);
  assert_true(plan.error_growth == 0);
  plan = plan_of(context, "cpu.winograd", many_channels);
  assert_int_equal(plan.accepted, 0);
  assert_non_null(strstr(plan.reason, "options.winograd"));
  convoy_close(context);
}

static void forbidden_by_option_and_environment(void **state) {
  (void)state;
  check_forbidden(open_with(CONVOY_NO, NULL));
  setenv("CONVOY_WINOGRAD", "0", 1);
  check_forbidden(open_with(CONVOY_DEFAULT, NULL));
  unsetenv("CONVOY_WINOGRAD");
}

/* ------------------------------------------------------------------------------------ bound */

enum { SIZES = 24 }; /* powers of two up and down */

static test_array make_uneven(test_random *random, int64_t count) {
  test_array array = test_array_new(count);
  test_fill_reals(random, array.values, count);
  for (int64_t i = 0; i < count; i++) {
    int power = (int)test_between(random, -SIZES, SIZES);
    bool zero = test_between(random, 0, 3) == 0;
    array.values[i] = zero ? 0.0f : ldexpf(array.values[i], power);
  }
  return array;
}

/* Runs one direction by the row and compares each element with the bound of convoy.h. */
static void check_bound(convoy_context *context, const test_case *p, convoy_direction direction,
                        test_random *random) {
  const int64_t *shapes[][3] = {[CONVOY_FORWARD] = {p->x_shape, p->w_shape, p->y_shape},
                                [CONVOY_BACKWARD_DATA] = {p->y_shape, p->w_shape, p->x_shape},
                                [CONVOY_BACKWARD_WEIGHTS] = {p->x_shape, p->y_shape, p->w_shape}};
  int64_t count[3];
  for (int i = 0; i < 3; i++) count[i] = test_count(shapes[direction][i], p->conv.rank);
  test_array a = make_uneven(random, count[0]), b = make_uneven(random, count[1]);
  test_array out = test_array_new(count[2]);
  convoy_plan plan = plan_of(context, NULL, "n1c1h9w9 k1r3s3 pad1 forward");
  convoy_status status =
      direction == CONVOY_FORWARD
          ? convoy_forward_host(context, &p->conv, p->x_shape, a.values, p->w_shape, b.values, NULL,
                                NULL, out.values, NULL)
      : direction == CONVOY_BACKWARD_DATA
          ? convoy_backward_data_host(context, &p->conv, p->x_shape, a.values, p->w_shape, b.values,
                                      0, out.values, NULL)
          : convoy_backward_weights_host(context, &p->conv, p->x_shape, a.values, p->w_shape,
                                         b.values, 0, out.values, NULL);
  assert_int_equal(status, CONVOY_OK);
  const int64_t per_output[] = {p->x_shape[1] * 9, p->y_shape[1] * 9,
                                p->y_shape[0] * p->y_shape[2] * p->y_shape[3]};
  double unit = 4 * ((double)per_output[direction] + 2) * 0x1p-24;
  for (int64_t i = 0; i < count[2]; i++) {
    double value, magnitude;
    int64_t terms;
    ref_element(&p->conv, direction, p->x_shape, p->w_shape, a.values, b.values, i, &value,
                &magnitude, &terms);
    double wide = ref_wide_magnitude(&p->conv, direction, p->x_shape, p->w_shape, a.values,
                                     b.values, i, plan.error_reach);
    double bound = unit * (magnitude + plan.error_growth * wide);
    if (!(fabs((double)out.values[i] - value) <= bound)) {
      fail_msg("direction %d element %lld: %g, expected %g within %g", (int)direction, (long long)i,
               (double)out.values[i], value, bound);
    }
  }
  test_array_free(&a);
  test_array_free(&b);
  test_array_free(&out);
}

static void bound_holds_for_uneven_data(void **state) {
  (void)state;
  static const char *const texts[] = {
      "n1c1h9w9 k1r3s3 pad1 forward", "n2c2h13w22 k3r3s3 pad1 forward",
      "n3c9h7w7 k10r3s3 pad1 forward", "n1c5h12w19 k17r3s3 pad0:2,1:0 forward"};
  convoy_context *context = open_with(CONVOY_ON, "cpu.winograd");
  test_random random = {5};
  for (int round = 0; round < 5; round++) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
      test_case p;
      assert_true(test_case_parse(texts[i], &p));
      for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++)
        check_bound(context, &p, (convoy_direction)d, &random);
    }
  }
  convoy_close(context);
}

/* -------------------------------------------------------------------- transient filters */

static test_array forward_of(convoy_context *context, const test_case *p, const float *x,
                             const float *w) {
  test_array y = test_array_new(test_count(p->y_shape, p->conv.rank));
  assert_int_equal(convoy_forward_host(context, &p->conv, p->x_shape, x, p->w_shape, w, NULL, NULL,
                                       y.values, NULL),
                   CONVOY_OK);
  return y;
}

/* So many images are two blocks of tiles, each with filters transformed anew. The last image alone
 * is summed in the same order. */
static void blocks_of_tiles_do_not_matter(void **state) {
  (void)state;
  convoy_context *context = open_with(CONVOY_ON, "cpu.winograd");
  test_case all, one;
  test_random random = {9};
  assert_true(test_case_parse("n13c512h7w7 k256r3s3 pad1 forward", &all));
  assert_true(test_case_parse("n1c512h7w7 k256r3s3 pad1 forward", &one));
  test_array x = test_array_new(test_count(all.x_shape, 2));
  test_array w = test_array_new(test_count(all.w_shape, 2));
  test_fill_reals(&random, x.values, x.count);
  test_fill_reals(&random, w.values, w.count);
  test_array together = forward_of(context, &all, x.values, w.values);
  test_array alone = forward_of(context, &one, x.values + x.count / 13 * 12, w.values);
  assert_memory_equal(together.values + alone.count * 12, alone.values,
                      (size_t)alone.count * sizeof(float));
  test_array_free(&x);
  test_array_free(&w);
  test_array_free(&together);
  test_array_free(&alone);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chosen_where_it_pays),
      cmocka_unit_test(forbidden_by_option_and_environment),
      cmocka_unit_test(bound_holds_for_uneven_data),
      cmocka_unit_test(blocks_of_tiles_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
