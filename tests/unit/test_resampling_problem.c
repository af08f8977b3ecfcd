/* src/problem/resampling: legality, texts, definition against the reference, ranges against looking
 * at every element, and gradients against differences. */
#include "problem/resampling/resampling.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "ref/resample.h"
#include "unit/gradient_check.h"

enum { MOST = 4096 };
static const char *const texts[] = {
    "resample_nearest n2c3h5w8 h10w16",
    "resample_nearest n2c3h5w7 h11w3 exact",
    "resample_nearest n1c2w31 w13 step2.5",
    "resample_nearest n1c2h5w8 h11w17 exact step0.47619048,0.5",
    "resample_nearest n1c2z3h4w5 z6h2w9",
    "resample_nearest_backward n2c3h5w8 h10w16",
    "resample_nearest_backward n1c2w31 w13 exact",
    "resample_nearest_backward n1c2w2 w50 step1",
    "resample_linear n2c3h5w7 h10w12",
    "resample_linear n1c2z3h4w5 z5h2w9 aligned",
    "resample_linear n1c2w31 w13 step2.5",
    "resample_linear_backward n2c3h5w7 h10w12 aligned",
    "resample_linear_backward n1c2w31 w70",
    "resample_linear_backward n1c2w2 w50 step1",
    "resample_linear_backward n1c2h1w4 h5w1 aligned",
    "resample_nearest n0c3h5w8 h10w16",
};

static cvy_problem read(const char *text) {
  cvy_problem problem;
  memset(&problem, 0xa5, sizeof problem);
  if (cvy_resampling_read(text, &problem)) fail_msg("%s: %s", text, cvy_last_error());
  return problem;
}

static void check_text(const char *text, const cvy_problem *problem) {
  char again[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], same[CVY_CLASS_TEXT];
  cvy_problem other;
  assert_true(cvy_problem_legal(problem));
  cvy_problem_text(problem, again, sizeof again);
  assert_string_equal(again, text);
  assert_true(cvy_problem_read(text, &other));
  assert_true(cvy_problem_equal(&other, problem));
  cvy_shape_class(problem, class, sizeof class);
  assert_true(cvy_class_of_example(text, same, sizeof same));
  assert_string_equal(class, same);
}

static void check_elements(const char *text, const cvy_problem *problem) {
  static float values[MOST];
  test_random random = {5};
  convoy_resampling how;
  int64_t x[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
  int64_t count = cvy_problem_output_bytes(problem, 0) / 4;
  cvy_values from = {{values}};
  assert_true(cvy_problem_input_bytes(problem, 0) <= (int64_t)sizeof values);
  test_fill_reals(&random, values, MOST);
  cvy_resampling_spell(problem, &how, x, y);
  bool backward = cvy_resampling_is_backward(problem);
  for (int64_t i = 0; i < count; i++) {
    cvy_element got = cvy_problem_element(problem, &from, 0, i);
    ref_value wanted = ref_resample(backward, &how, x, y, values, i);
    if (!(fabs(got.value - wanted.value) <= 1e-13 * wanted.magnitude))
      fail_msg("%s: [%d] is %g, not %g", text, (int)i, got.value, wanted.value);
    assert_true(fabs(got.magnitude - wanted.magnitude) <= 1e-13 * wanted.magnitude);
    if (backward || cvy_resampling_is_linear(problem))
      assert_true(wanted.terms <= cvy_resampling_terms(problem));
  }
}

static void every_problem_is_as_its_text_says(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    cvy_problem problem = read(texts[t]);
    check_text(texts[t], &problem);
    check_elements(texts[t], &problem);
  }
}

/* The first element of y that is made of an element of x or one behind it, for any step. */
static void ranges_are_what_looking_finds(void **state) {
  test_random random = {9};
  (void)state;
  for (int i = 0; i < 3000; i++) {
    cvy_problem problem = {.operation = CVY_RESAMPLING_NEAREST};
    cvy_resampling_problem *p = &problem.resampling;
    p->mode = (int32_t)test_between(&random, 0, CONVOY_INTERPOLATIONS - 1);
    p->in[2] = test_between(&random, 1, 40);
    p->out[2] = test_between(&random, 1, 90);
    p->step[2] = cvy_resampling_usual_step(p->mode, p->in[2], p->out[2]);
    if (p->mode != CONVOY_LINEAR_ALIGNED && test_between(&random, 0, 1))
      p->step[2] = (float)test_between(&random, 1, 4000) / 1000.0f;
    for (int64_t target = -1; target <= p->in[2]; target++) {
      int64_t wanted = 0, before = 0;
      while (wanted < p->out[2] && cvy_resampling_place_of(p, 2, wanted).low < target) wanted++;
      assert_int_equal(cvy_resampling_first(p, 2, target), wanted);
      for (int64_t o = 0; o < p->out[2]; o++) {
        cvy_resampling_place at = cvy_resampling_place_of(p, 2, o);
        assert_true(at.low >= before && at.high < p->in[2] && at.high - at.low <= 1);
        assert_true(at.weight >= 0.0f && at.weight <= 1.0f);
        before = at.low;
      }
    }
  }
}

static void gradients_are_the_differences(void **state) {
  test_random random = {6};
  test_gradient_counts counts = {0};
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    cvy_problem problem = read(texts[t]);
    if (test_check_gradient(&random, &problem, 1, 1, 40, &counts)) fail_msg("%s", cvy_last_error());
  }
  print_message("%d checked, %d skipped\n", counts.checked, counts.skipped);
  assert_true(counts.checked > 300 && counts.skipped == 0);
}

static void what_is_wrong_is_said(void **state) {
  static const struct {
    const char *text, *sentence;
    convoy_status status;
  } cases[] = {
      {"resample n1c1w4 w8", "expected resample_nearest, resample_linear", CONVOY_ERR_ARGUMENT},
      {"resample_nearest c1w4 w8", "expected n", CONVOY_ERR_ARGUMENT},
      {"resample_nearest n1c1w4 h8w8", "z, h and w as before", CONVOY_ERR_ARGUMENT},
      {"resample_nearest n1c1w4 w8 ", "or the end", CONVOY_ERR_ARGUMENT},
      {"resample_nearest n1c1w4 w8 aligned", "or the end", CONVOY_ERR_ARGUMENT},
      {"resample_linear n1c1w4 w8 exact", "or the end", CONVOY_ERR_ARGUMENT},
      {"resample_linear n1c1w4 w8 aligned step2", "or the end", CONVOY_ERR_ARGUMENT},
      {"resample_linear n1c1h4w4 h8w8 step2", "a step for each axis", CONVOY_ERR_ARGUMENT},
      {"resample_linear n1c1w4 w8 step-2", "a number", CONVOY_ERR_ARGUMENT},
      {"resample_linear n1c1w4 w8 step0", "above 0", CONVOY_ERR_ARGUMENT},
      {"resample_linear n1c1w4 w8 step1e60", "above 0 that float32 has", CONVOY_ERR_ARGUMENT},
      {"resample_nearest n1c1w0 w8", "extent 2 of x is 0; legal are 1", CONVOY_ERR_SHAPE},
      {"resample_nearest n1c1w4 w0", "extent 2 of y is 0; legal are 1", CONVOY_ERR_SHAPE},
      {"resample_nearest n1c1w4 w2147483648", "is 2147483648", CONVOY_ERR_SHAPE},
      {"resample_nearest n2147483647c2147483647w4 w8", "bytes of x overflow", CONVOY_ERR_SHAPE},
      {"", "expected resample_nearest", CONVOY_ERR_ARGUMENT},
  };
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_problem problem;
    convoy_status status = cvy_resampling_read(cases[i].text, &problem);
    if (status != cases[i].status || !strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("%s: %d, \"%s\"", cases[i].text, (int)status, cvy_last_error());
  }
}

static void bytes_of_others_are_refused(void **state) {
  static const float steps[] = {0.0f, -1.0f, NAN, INFINITY, FLT_MIN / 2};
  cvy_problem good = read("resample_nearest n2c3h5w7 h11w3 exact step0.5,2");
  cvy_problem aligned = read("resample_linear n2c3h5w7 h11w3 aligned");
  const size_t places = CVY_PROBLEM_HEAD + offsetof(cvy_resampling_problem, x);
  (void)state;
  for (size_t at = CVY_PROBLEM_HEAD; at < places; at++) {
    cvy_problem bad = good;
    ((unsigned char *)&bad)[at] ^= 0x80;
    size_t behind = at - CVY_PROBLEM_HEAD;
    bool switches = behind < offsetof(cvy_resampling_problem, n);
    bool high = behind < offsetof(cvy_resampling_problem, step) ? behind % 8 == 7 : behind % 4 == 3;
    if (switches || high) assert_false(cvy_problem_legal(&bad));
  }
  for (size_t i = 0; i < CVY_COUNT(steps); i++) {
    cvy_problem bad = good;
    bad.resampling.step[1] = steps[i];
    assert_false(cvy_problem_legal(&bad));
  }
  aligned.resampling.step[2] = 2.0f; /* its own is said by the extents */
  assert_false(cvy_problem_legal(&aligned));
  good.operation = CVY_RESAMPLING_LINEAR; /* the mode is another row's */
  assert_false(cvy_problem_legal(&good));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_problem_is_as_its_text_says),
      cmocka_unit_test(ranges_are_what_looking_finds),
      cmocka_unit_test(gradients_are_the_differences),
      cmocka_unit_test(what_is_wrong_is_said),
      cmocka_unit_test(bytes_of_others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
