/* src/problem/pooling: legality, extents, texts, definition against the reference, and gradients
 * against differences. */
#include "problem/pooling/pooling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "ref/pool.h"

enum { MOST = 4096 };
static const char *const texts[] = {
    "max_pool n2c3h8w10 r2s2 stride2",
    "max_pool n2c3h7w9 r2s2 stride2 ceil",
    "max_pool n1c2h9w11 r3s3 pad1",
    "max_pool n1c2h13w17 r3s2 stride1,3 pad1:0,1 dil2,1 ceil",
    "max_pool n1c2z5h6w7 t2r2s2 stride2 pad1",
    "max_pool n2c3w50 s4 stride3 pad1:2",
    "max_pool n1c1h1w1 r1s1",
    "max_pool_backward n2c3h8w10 r2s2 stride2",
    "max_pool_backward n1c2h9w11 r3s3 pad1",
    "max_pool_backward n1c2h13w17 r3s3 stride2 pad2 dil2",
    "max_pool_backward n1c2z5h6w7 t2r2s2 stride2 pad1 ceil",
    "average_pool n2c3h7w9 r2s2 stride2 ceil",
    "average_pool n2c3h7w9 r3s3 stride2 pad1 ceil count_padding",
    "average_pool n1c2h9w11 r3s3 pad1",
    "average_pool n1c2z5h6w7 t2r2s3 stride2 pad1:0,0,1",
    "average_pool_backward n1c2h9w11 r3s3 pad1 count_padding",
    "average_pool_backward n1c2h9w11 r3s3 stride2 pad1:2,0 ceil",
    "average_pool_backward n2c3w50 s4 stride3 pad1:2",
};

typedef struct one_case {
  convoy_pool what;
  convoy_window window;
  int64_t x_shape[CONVOY_MAX_DIMS], y_shape[CONVOY_MAX_DIMS];
  cvy_problem problem;
  float value[2][MOST];
} one_case;

static void read_case(const char *text, one_case *c) {
  test_random random = {11};
  if (cvy_pooling_read(text, &c->what, &c->window, c->x_shape, &c->problem))
    fail_msg("%s: %s", text, cvy_last_error());
  cvy_pooling_y_shape(&c->problem, c->y_shape);
  for (int32_t i = 0; i < cvy_problem_inputs(&c->problem); i++) {
    int64_t count = cvy_problem_input_bytes(&c->problem, i) / 4;
    assert_in_range(count, 1, MOST);
    test_fill_reals(&random, c->value[i], count);
  }
}

static int64_t results_of(const one_case *c) {
  return cvy_problem_output_bytes(&c->problem, 0) / 4;
}

static void check_text(const char *text, const one_case *c) {
  char again[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], same[CVY_CLASS_TEXT];
  cvy_problem other;
  int64_t y_shape[CONVOY_MAX_DIMS];
  assert_true(cvy_problem_legal(&c->problem));
  cvy_problem_text(&c->problem, again, sizeof again);
  assert_string_equal(again, text);
  assert_true(cvy_problem_read(text, &other));
  assert_true(cvy_problem_equal(&other, &c->problem));
  cvy_shape_class(&c->problem, class, sizeof class);
  assert_true(cvy_class_of_example(text, same, sizeof same));
  assert_string_equal(class, same);
  assert_int_equal(cvy_pooling_shape(&c->window, c->x_shape, y_shape), CONVOY_OK);
  assert_memory_equal(y_shape, c->y_shape, (size_t)(c->window.rank + 2) * sizeof *y_shape);
}

/* Nothing may look behind a problem's own bytes. */
static void check_bytes(const one_case *c) {
  cvy_problem kept;
  assert_int_equal(cvy_problem_size(&c->problem), CVY_PROBLEM_HEAD + sizeof(cvy_pooling_problem));
  memset(&kept, 0xa5, sizeof kept);
  cvy_problem_copy(&kept, &c->problem);
  assert_true(cvy_problem_legal(&kept));
  assert_true(cvy_problem_equal(&kept, &c->problem));
  assert_int_equal(cvy_problem_hash(&kept), cvy_problem_hash(&c->problem));
}

static void every_problem_is_as_its_text_says(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static one_case c;
    read_case(texts[t], &c);
    check_text(texts[t], &c);
    check_bytes(&c);
  }
}

static void elements_are_the_references(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static one_case c;
    read_case(texts[t], &c);
    const float *const in[] = {c.value[0], c.value[1]};
    cvy_values from = {{in[0], in[1]}};
    for (int64_t i = 0; i < results_of(&c); i++) {
      cvy_element element = cvy_problem_element(&c.problem, &from, 0, i);
      ref_value wanted = ref_pool(c.what, &c.window, c.x_shape, c.y_shape, in, i);
      if (!(fabs(element.value - wanted.value) <= 1e-12 * wanted.magnitude))
        fail_msg("%s: [%d] is %g, not %g", texts[t], (int)i, element.value, wanted.value);
      assert_true(fabs(element.magnitude - wanted.magnitude) <= 1e-12 * wanted.magnitude);
      assert_true(wanted.terms <= cvy_pooling_summed(&c.problem));
    }
  }
}

/* The sum of y dy after x is moved a little, less that before. Maxima stay where they are. */
static double difference(const one_case *y, const float *x, const float *dy, int64_t place,
                         float h) {
  static float moved[MOST];
  double sum = 0;
  memcpy(moved, x, sizeof moved);
  moved[place] += h;
  cvy_values before = {{x}}, after = {{moved}};
  for (int64_t i = 0; i < results_of(y); i++) {
    sum += (double)dy[i] * (cvy_problem_element(&y->problem, &after, 0, i).value -
                            cvy_problem_element(&y->problem, &before, 0, i).value);
  }
  return sum / ((double)moved[place] - (double)x[place]);
}

static void gradients_are_the_differences(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static one_case c, y;
    char forward[128];
    const char *name = strstr(texts[t], "_backward");
    if (!name) continue;
    snprintf(forward, sizeof forward, "%.*s%s", (int)(name - texts[t]), texts[t],
             name + strlen("_backward"));
    read_case(texts[t], &c);
    read_case(forward, &y);
    bool max = cvy_pooling_is_max(&c.problem);
    cvy_values from = {{c.value[0], c.value[1]}};
    const float *x = max ? c.value[0] : y.value[0], *dy = c.value[max];
    for (int64_t i = 0; i < results_of(&c); i += 3) {
      double wanted = difference(&y, x, dy, i, 0x1p-20f);
      double got = cvy_problem_element(&c.problem, &from, 0, i).value;
      if (!(fabs(got - wanted) < 1e-6))
        fail_msg("%s: [%d] %g, not %g", texts[t], (int)i, got, wanted);
    }
  }
}

static void extents_are_rounded_up_as_far_as_there_is_something(void **state) {
  static const struct {
    int64_t in, window, stride, begin, end, dilation, floor, ceil;
  } cases[] = {
      {7, 2, 2, 0, 0, 1, 3, 4}, {8, 2, 2, 0, 0, 1, 4, 4},     {9, 2, 2, 1, 1, 1, 5, 5},
      {7, 2, 3, 1, 1, 1, 3, 3}, {10, 3, 4, 0, 0, 1, 2, 3},    {5, 1, 3, 0, 0, 1, 2, 2},
      {6, 2, 5, 0, 0, 1, 1, 2}, {5, 2, 5, 0, 0, 1, 1, 1},     {13, 3, 2, 2, 2, 2, 7, 7},
      {7, 3, 3, 0, 0, 2, 1, 2}, {100, 7, 11, 0, 0, 1, 9, 10},
  };
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    convoy_window w = CONVOY_WINDOW_INIT(1);
    const int64_t x[] = {1, 1, cases[i].in};
    int64_t y[3];
    w.extent[0] = cases[i].window;
    w.stride[0] = cases[i].stride;
    w.pad_begin[0] = cases[i].begin;
    w.pad_end[0] = cases[i].end;
    w.dilation[0] = cases[i].dilation;
    for (w.ceil_mode = 0; w.ceil_mode < 2; w.ceil_mode++) {
      assert_int_equal(cvy_pooling_shape(&w, x, y), CONVOY_OK);
      int64_t wanted = w.ceil_mode ? cases[i].ceil : cases[i].floor;
      if (y[2] != wanted)
        fail_msg("case %d, ceil %d: %d, not %d", (int)i, (int)w.ceil_mode, (int)y[2], (int)wanted);
    }
  }
}

static void what_is_wrong_is_said(void **state) {
  static const struct {
    const char *text, *sentence;
    convoy_status status;
  } cases[] = {
      {"max_pools n1c1w4 s2", "expected max_pool, average_pool", CONVOY_ERR_ARGUMENT},
      {"max_pool c1w4 s2", "expected n", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 r2s2", "t, r and s like z, h and w", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 s2 pad1 stride2", "in this order", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 s2 ", "in this order", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 s2 ceiling", "in this order", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 s2 stride1,2", "no more numbers than axes", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 s2 pad2", "padding 2 and 2 of axis 0", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1w4 s5", "5", CONVOY_ERR_SHAPE},
      {"max_pool n1c0w4 s2", "extent 1 of x is 0", CONVOY_ERR_SHAPE},
      {"max_pool n1c1w4 s99999999999", "99999999999", CONVOY_ERR_ARGUMENT},
      {"max_pool n1c1h70000w70000 r70000s70000", "more than 2147483647", CONVOY_ERR_ARGUMENT},
      {"average_pool n1c1w9 s2 dil2", "legal are 1 for an average", CONVOY_ERR_ARGUMENT},
      {"average_pool n99999999c99999999w99999999 s1", "overflows", CONVOY_ERR_SHAPE},
      {"", "expected max_pool", CONVOY_ERR_ARGUMENT},
  };
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    static one_case c;
    convoy_status status =
        cvy_pooling_read(cases[i].text, &c.what, &c.window, c.x_shape, &c.problem);
    if (status != cases[i].status || !strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("%s: %d, \"%s\"", cases[i].text, (int)status, cvy_last_error());
  }
}

/* Negative or too large numbers, switches that are none, extents that do not follow. */
static void bytes_of_others_are_refused(void **state) {
  static one_case c;
  (void)state;
  read_case("max_pool n2c3h7w9 r3s2 stride2 pad1 ceil", &c);
  for (size_t at = CVY_PROBLEM_HEAD; at < cvy_problem_size(&c.problem); at++) {
    cvy_problem bad = c.problem;
    ((unsigned char *)&bad)[at] ^= 0x80;
    bool switches = at < CVY_PROBLEM_HEAD + offsetof(cvy_pooling_problem, n);
    if (switches || (at - CVY_PROBLEM_HEAD) % 8 == 7) assert_false(cvy_problem_legal(&bad));
  }
  cvy_problem bad = c.problem;
  bad.pooling.out[1]++;
  assert_false(cvy_problem_legal(&bad));
  bad = c.problem;
  bad.accumulate = 1;
  assert_false(cvy_problem_legal(&bad));
}

/* A gradient that is added to another one's: to the definition, to the magnitude, and as text. */
static void gradients_are_added_to_others(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static one_case c;
    char text[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], again[CVY_CLASS_TEXT];
    read_case(texts[t], &c);
    if (!cvy_pooling_is_backward(&c.problem)) continue;
    cvy_problem sum = c.problem;
    cvy_values from = {{c.value[0], c.value[1]}};
    sum.accumulate = 1;
    assert_true(cvy_problem_legal(&sum));
    cvy_class_example(&sum, text, sizeof text);
    assert_non_null(strstr(text, ", added to what is there"));
    cvy_shape_class(&sum, class, sizeof class);
    assert_true(cvy_class_of_example(text, again, sizeof again));
    assert_string_equal(class, again);
    float *prior = calloc((size_t)results_of(&c) + 1, sizeof *prior);
    for (int64_t i = 0; i < results_of(&c); i++) prior[i] = (float)(i % 7) - 3;
    from.in[cvy_problem_inputs(&sum)] = prior;
    for (int64_t i = 0; i < results_of(&c); i++) {
      cvy_element one = cvy_problem_element(&c.problem, &from, 0, i);
      cvy_element both = cvy_problem_element(&sum, &from, 0, i);
      assert_true(fabs(both.value - (one.value + (double)prior[i])) <= 1e-12 * both.magnitude);
      assert_true(fabs(both.magnitude - (one.magnitude + fabs((double)prior[i]))) <=
                  1e-12 * both.magnitude);
    }
    free(prior);
  }
}

/* What is added to has the gradient of the sum; the windows' own is no sum. */
static void sums_have_gradients(void **state) {
  (void)state;
  static cvy_gradient gradient;
  cvy_problem sum;
  assert_true(cvy_problem_read(
      "average_pool_backward n2c3h4w4 r2s2 stride2, added to what is there", &sum));
  assert_int_equal(cvy_problem_gradient(&sum, 3, 1, &gradient), CONVOY_OK);
  assert_int_equal(gradient.steps, 1);
  assert_true(cvy_problem_legal(&gradient.step[0].problem));
  assert_int_equal(gradient.step[0].problem.accumulate, 0);
  assert_int_equal(gradient.of[0].source, CVY_GRADIENT_STEP);
  assert_int_equal(gradient.of[1].source, CVY_GRADIENT_OF_OUTPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_problem_is_as_its_text_says),
      cmocka_unit_test(elements_are_the_references),
      cmocka_unit_test(gradients_are_added_to_others),
      cmocka_unit_test(sums_have_gradients),
      cmocka_unit_test(gradients_are_the_differences),
      cmocka_unit_test(extents_are_rounded_up_as_far_as_there_is_something),
      cmocka_unit_test(what_is_wrong_is_said),
      cmocka_unit_test(bytes_of_others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
