/* src/problem/matmul: legality, texts, folding, and gradients against differences. */
#include "problem/matmul/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "ref/matmul.h"

enum { TEXTS = 28, MOST = 4096 };
static const char *const texts[TEXTS] = {
    "matmul a5x7 b7x3",
    "matmul a7x5t b7x3",
    "matmul a5x7 b3x7t",
    "matmul a7x5t b3x7t",
    "matmul a1x7 b7x3",
    "matmul a5x7 b7x1",
    "matmul a5x1 b1x3",
    "matmul a4x5x7 b4x7x3",
    "matmul a4x7x5t b4x3x7t",
    "matmul a5x7 b4x7x3",
    "matmul a7x5t b4x7x3",
    "matmul a4x7x5t b7x3",
    "matmul a4x5x7 b4x7x3 sum",
    "matmul a4x5x7 b4x3x7t sum",
    "matmul a4x7x5t b4x3x7t sum",
    "matmul a0x7 b7x3",
    "matmul a5x0 b0x3",
    "matmul a5x7 b7x0",
    "matmul a0x5x7 b3x7t",
    "matmul a0x5x7 b0x7x3 sum",
    "matmul a1x1 b1x1",
    /* Stacked where one row, column or term lies like the transpose. */
    "matmul a4x7x1 b4x1x3 sum",
    "matmul a4x1x7 b4x7x3 sum",
    "matmul a4x7x5t b4x1x7t sum",
    "matmul a4x7x1t b7x3",
    "matmul a4x5x7 b4x1x7t sum",
    "matmul a5x1t b5x3",
    "matmul a0x7x5t b0x7x3 sum",
};

typedef struct one_case {
  uint32_t flags;
  cvy_shape shape[3];
  cvy_problem problem;
  int32_t dims[3];
  int64_t shapes[3][CONVOY_MAX_DIMS], count[3];
  float value[3][MOST];
} one_case;

static void fill(one_case *c, const cvy_shape *shape) {
  static test_random random = {11};
  for (int i = 0; i < 3; i++) {
    c->dims[i] = shape[i].dims;
    memcpy(c->shapes[i], shape[i].extent, sizeof c->shapes[i]);
    c->count[i] = 1;
    for (int axis = 0; axis < shape[i].dims; axis++) c->count[i] *= shape[i].extent[axis];
    assert_in_range(c->count[i], 0, MOST);
    test_fill_reals(&random, c->value[i], c->count[i]);
  }
}

static void read_case(const char *text, one_case *c) {
  cvy_shape shape[3];
  convoy_status status =
      cvy_matmul_read(text, &c->flags, &shape[0], &shape[1], &shape[2], &c->problem);
  if (status) fail_msg("%s: %s", text, cvy_last_error());
  fill(c, shape);
  memcpy(c->shape, shape, sizeof shape);
}

static void check_element(const one_case *c, int64_t index) {
  cvy_values from = {{c->value[0], c->value[1]}};
  cvy_element got = cvy_problem_element(&c->problem, &from, 0, index);
  ref_value wanted = ref_matmul(c->flags, c->dims, (const int64_t(*)[CONVOY_MAX_DIMS])c->shapes,
                                c->value[0], c->value[1], index);
  assert_true(fabs(got.value - wanted.value) <= 1e-12);
  assert_true(fabs(got.magnitude - wanted.magnitude) <= 1e-12);
  assert_int_equal(cvy_problem_terms(&c->problem), wanted.terms);
}

static void every_problem_is_as_its_text_says(void **state) {
  (void)state;
  for (int t = 0; t < TEXTS; t++) {
    one_case c;
    char again[CONVOY_PROBLEM_TEXT], class[CVY_CLASS_TEXT], same[CVY_CLASS_TEXT];
    cvy_problem other;
    read_case(texts[t], &c);
    assert_true(cvy_problem_legal(&c.problem));
    for (int i = 0; i < 3; i++) {
      cvy_array array = cvy_problem_input(&c.problem, i);
      assert_int_equal(cvy_array_count(&array), c.count[i]);
    }
    for (int64_t i = 0; i < c.count[2] && !cvy_problem_empty(&c.problem); i++) check_element(&c, i);
    cvy_problem_text(&c.problem, again, sizeof again);
    assert_true(cvy_problem_read(again, &other));
    assert_true(cvy_problem_equal(&c.problem, &other));
    cvy_shape_class(&c.problem, class, sizeof class);
    assert_true(cvy_class_of_example(again, same, sizeof same));
    assert_string_equal(class, same);
    if (t < 15 && t != 4 && t != 5 && t != 6) assert_string_equal(texts[t], again);
  }
}

/* Rows of one product, and terms of one with both sides stacked along it, are images. */
static void images_are_what_can_be_cut(void **state) {
  static const struct {
    const char *text;
    int64_t images;
    cvy_batch batch;
  } cases[] = {
      {"matmul a5x7 b7x3", 5, CVY_BATCH_INDEPENDENT},
      {"matmul a4x5x7 b7x3", 20, CVY_BATCH_INDEPENDENT},
      {"matmul a4x5x7 b4x7x3", 4, CVY_BATCH_INDEPENDENT},
      {"matmul a7x5t b7x3", 7, CVY_BATCH_SUMMED},
      {"matmul a4x7x5t b4x7x3 sum", 28, CVY_BATCH_SUMMED},
      {"matmul a4x5x7 b4x7x3 sum", 4, CVY_BATCH_SUMMED},
      {"matmul a7x5t b3x7t", 1, CVY_BATCH_INDEPENDENT},
      {"matmul a5x7 b4x7x3", 4, CVY_BATCH_INDEPENDENT},
      {"matmul a5x0 b0x3", 5, CVY_BATCH_INDEPENDENT},
      {"matmul a0x5t b0x3", 0, CVY_BATCH_SUMMED},
      {"matmul a4x5x7 b4x7x0", 0, CVY_BATCH_INDEPENDENT},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    one_case c;
    read_case(cases[i].text, &c);
    if (cvy_problem_images(&c.problem) != cases[i].images)
      fail_msg("%s: %d images", cases[i].text, (int)cvy_problem_images(&c.problem));
    assert_int_equal(cvy_problem_batch(&c.problem), cases[i].batch);
    assert_int_equal(cvy_problem_output(&c.problem, 0).per_image,
                     cases[i].batch == CVY_BATCH_INDEPENDENT);
    cvy_problem part = c.problem;
    cvy_problem_set_images(&part, 2);
    assert_true(cvy_problem_legal(&part));
    char class[CVY_CLASS_TEXT], of_part[CVY_CLASS_TEXT];
    cvy_shape_class(&c.problem, class, sizeof class);
    cvy_shape_class(&part, of_part, sizeof of_part);
    assert_string_equal(class, of_part);
  }
}

/* The loss is the sum of y times dy. */
static double loss(const one_case *c) {
  double sum = 0;
  cvy_values from = {{c->value[0], c->value[1]}};
  for (int64_t i = 0; i < c->count[2]; i++)
    sum += cvy_problem_element(&c->problem, &from, 0, i).value * (double)c->value[2][i];
  return sum;
}

static void check_gradient(one_case *c, int side, const char *text) {
  cvy_problem gradient;
  bool y_first;
  cvy_matmul_gradient(&c->problem, side, &gradient, &y_first);
  assert_true(cvy_problem_legal(&gradient));
  const float *other = c->value[1 - side];
  cvy_values from = {{y_first ? c->value[2] : other, y_first ? other : c->value[2]}};
  cvy_array made = cvy_problem_output(&gradient, 0);
  assert_int_equal(cvy_array_count(&made), c->count[side]);
  for (int64_t i = 0; i < c->count[side]; i++) {
    float before = c->value[side][i];
    c->value[side][i] = before + 0.5f; /* a product is linear in each side: any step does */
    double above = loss(c), step = (double)c->value[side][i] - (double)before;
    c->value[side][i] = before;
    double wanted = (above - loss(c)) / step;
    double got = cvy_problem_element(&gradient, &from, 0, i).value;
    if (!(fabs(got - wanted) <= 1e-10))
      fail_msg("%s, side %d: [%d] is %g, not %g", text, side, (int)i, got, wanted);
  }
}

static void gradients_are_the_differences(void **state) {
  (void)state;
  for (int t = 0; t < TEXTS; t++) {
    one_case c;
    read_case(texts[t], &c);
    if (cvy_problem_empty(&c.problem)) continue;
    check_gradient(&c, 0, texts[t]);
    check_gradient(&c, 1, texts[t]);
  }
}

static void what_is_wrong_is_said(void **state) {
  static const struct {
    const char *text, *sentence;
    convoy_status status;
  } cases[] = {
      {"matmul a3x4 b5x6", "has 4 columns, b, 5 by 6, has 5 rows", CONVOY_ERR_SHAPE},
      {"matmul a4x3t b5x6", "a, 3 by 4 as multiplied", CONVOY_ERR_SHAPE},
      {"matmul a2x3x4 b3x4x5", "a has a batch of 2, b of 3", CONVOY_ERR_SHAPE},
      {"matmul a2x3x4 b4x5 sum", "a has a batch of 2, b of 1; to be summed", CONVOY_ERR_SHAPE},
      {"matmul a3 b3x4", "a has 1 extents", CONVOY_ERR_SHAPE},
      {"matmul a1x2x3x4 b4x4", "no more than 3 extents", CONVOY_ERR_ARGUMENT},
      {"matmul a4294967296x4294967296 b4294967296x1", "too large", CONVOY_ERR_SHAPE},
      {"matmul a4294967296x1 b1x4294967296", "too large", CONVOY_ERR_SHAPE},
      {"matmul a9223372036854775808x1 b1x1", "below 2^63", CONVOY_ERR_ARGUMENT},
      {"matmul a3x4", "expected  b", CONVOY_ERR_ARGUMENT},
      {"matmul a3x4 b4x5 summed", "\" sum\" or the end", CONVOY_ERR_ARGUMENT},
      {"matmul a-3x4 b4x5", "a number", CONVOY_ERR_ARGUMENT},
      {"", "expected matmul", CONVOY_ERR_ARGUMENT},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t flags;
    cvy_shape a, b, y;
    cvy_problem problem;
    assert_int_equal(cvy_matmul_read(cases[i].text, &flags, &a, &b, &y, &problem), cases[i].status);
    if (!strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("\"%s\" is not in \"%s\"", cases[i].sentence, cvy_last_error());
  }
}

static void bytes_of_others_are_refused(void **state) {
  one_case c;
  (void)state;
  read_case("matmul a4x5x7 b3x7t", &c);
  for (size_t at = CVY_PROBLEM_HEAD; at < cvy_problem_size(&c.problem); at++) {
    cvy_problem bad = c.problem;
    ((unsigned char *)&bad)[at] ^= 0x80; /* negative or too large extents, flags that are none */
    size_t of = at - CVY_PROBLEM_HEAD;   /* pitches may be any that are large enough */
    bool flag =
        of >= offsetof(cvy_matmul_problem, a_transposed) && of < offsetof(cvy_matmul_problem, a);
    bool sign = of % 8 == 7;
    if (flag || sign) assert_false(cvy_problem_legal(&bad));
  }
  c.problem.matmul.summed = 1; /* with a side that is shared */
  assert_false(cvy_problem_legal(&c.problem));
}

/* What is kept of a problem is its first bytes: nothing may look behind them, and all that a call
 * says is among them. */
static void its_bytes_are_all_there_is(void **state) {
  one_case c;
  cvy_problem kept, bare;
  char text[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], wanted[CVY_EXAMPLE_TEXT];
  (void)state;
  for (int i = 0; i < TEXTS; i++) {
    read_case(texts[i], &c);
    assert_int_equal(cvy_problem_size(&c.problem), CVY_PROBLEM_HEAD + sizeof(cvy_matmul_problem));
    memset(&kept, 0xa5, sizeof kept);
    cvy_problem_copy(&kept, &c.problem);
    assert_true(cvy_problem_legal(&kept));
    assert_true(cvy_problem_equal(&kept, &c.problem));
    assert_int_equal(cvy_problem_hash(&kept), cvy_problem_hash(&c.problem));
    cvy_problem_text(&kept, text, sizeof text);
    cvy_problem_text(&c.problem, wanted, sizeof wanted);
    assert_string_equal(text, wanted);
    cvy_shape_class(&kept, class, sizeof class);
    cvy_shape_class(&c.problem, wanted, sizeof wanted);
    assert_string_equal(class, wanted);
    cvy_problem_bare(&kept, &bare);
    assert_true(cvy_problem_same(&bare, &c.problem));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_problem_is_as_its_text_says),
      cmocka_unit_test(images_are_what_can_be_cut),
      cmocka_unit_test(gradients_are_the_differences),
      cmocka_unit_test(what_is_wrong_is_said),
      cmocka_unit_test(bytes_of_others_are_refused),
      cmocka_unit_test(its_bytes_are_all_there_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
