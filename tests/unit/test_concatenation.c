/* src/problem/move: concatenation. Legality, texts, definition against the reference, and gradients
 * against differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "problem/move/move.h"
#include "ref/move.h"
#include "unit/gradient_check.h"

enum { MOST = 512 };

static const char *const texts[] = {
    "concatenate n1 w7",
    "concatenate n3 w4,8,12",
    "concatenate n5 w1,2,3",
    "concatenate n4 w0,3,0,5,0",
    "concatenate n2 w3:uint8,3,3:int32",
    "concatenate n2 w1,2,3,4,5,6,7,8,9,10,11,12",
    "concatenate n0 w5,3",
    "concatenate n5 w0,0",
};

/* Problems of plans. */
static const char *const placed[] = {
    "concatenate n3 w4,8,12, x0 settled",
    "concatenate n3 w4,8,12, x0 settled, x1 16 apart by 4, y 36 apart by 2",
    "concatenate n5 w1,2:uint8,3, x0 3 apart by 1, x2 settled, x2 6 apart by 1",
};

static cvy_problem read(const char *text) {
  cvy_problem problem;
  memset(&problem, 0xa5, sizeof problem);
  if (cvy_move_concatenate_read(text, &problem)) fail_msg("%s: %s", text, cvy_last_error());
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

/* Elements as the reference has them, of values of all types. */
static void check_elements(const char *text, const cvy_problem *problem) {
  static float values[CVY_MOVE_PARTS][MOST];
  const cvy_move_concatenate *p = &problem->move.concatenate;
  test_random random = {5};
  cvy_values from = {{NULL}};
  const void *inputs[CVY_MOVE_PARTS];
  convoy_dtype dtypes[CVY_MOVE_PARTS];
  int64_t shapes[CVY_MOVE_PARTS][CONVOY_MAX_DIMS];
  for (int32_t i = 0; i < p->parts; i++) {
    test_fill_reals(&random, values[i], MOST); /* any bits serve as integers */
    from.in[i] = inputs[i] = values[i];
    dtypes[i] = (convoy_dtype)p->dtype[i];
    shapes[i][0] = p->images;
    shapes[i][1] = p->width[i];
    assert_true(p->images * p->width[i] <= MOST);
  }
  int64_t count = cvy_problem_output_bytes(problem, 0) / 4;
  for (int64_t i = 0; i < count; i++) {
    double wanted =
        ref_concatenate(p->parts, dtypes, (const int64_t(*)[CONVOY_MAX_DIMS])shapes, inputs, i)
            .value;
    if (cvy_problem_element(problem, &from, 0, i).value != wanted)
      fail_msg("%s: [%d] is not %g", text, (int)i, wanted);
  }
}

static void places_have_words(void **state) {
  static const char *const wrong[] = {
      "concatenate n3 w4,8, x2 settled",
      "concatenate n3 w4,8, x0 settled, x0 settled",
      "concatenate n3 w4,8, x1 settled x0",
      "concatenate n3 w4,8, x0 3 apart by 1",
      "concatenate n3 w4,8, y 11 apart by 1",
      "concatenate n3 w4:int32,8, x0 settled",
      "concatenate n3 w4:int32,8, x0 8 apart by 4",
  };
  cvy_problem problem;
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(placed); t++) {
    memset(&problem, 0xa5, sizeof problem);
    if (!cvy_problem_read(placed[t], &problem)) fail_msg("%s", placed[t]);
    check_text(placed[t], &problem);
  }
  for (size_t t = 0; t < CVY_COUNT(wrong); t++)
    if (cvy_problem_read(wrong[t], &problem)) fail_msg("%s", wrong[t]);
}

static void every_problem_is_as_its_text_says(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    cvy_problem problem = read(texts[t]), part;
    check_text(texts[t], &problem);
    check_elements(texts[t], &problem);
    cvy_problem_copy(&part, &problem);
    cvy_problem_set_images(&part, 1);
    assert_true(cvy_problem_legal(&part));
    for (int32_t i = 0; i < cvy_problem_inputs(&problem); i++)
      assert_int_equal(cvy_problem_input_bytes(&problem, i),
                       cvy_problem_input_bytes(&part, i) * problem.move.concatenate.images);
    assert_int_equal(cvy_problem_images(&part),
                     cvy_move_concatenate_width(&part.move.concatenate) > 0);
  }
}

static void gradients_are_the_differences(void **state) {
  test_random random = {6};
  test_gradient_counts counts = {0};
  static cvy_gradient g;
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    cvy_problem problem = read(texts[t]);
    uint32_t wanted = 0;
    for (int32_t i = 0; i < problem.move.concatenate.parts; i++)
      if (problem.move.concatenate.dtype[i] == CONVOY_FLOAT32) wanted |= 1u << i;
    for (int times = 0; times < 20; times++) {
      uint32_t some = times ? (uint32_t)test_next(&random) & wanted : wanted;
      if (test_check_gradient(&random, &problem, some, 1, 2, &counts))
        fail_msg("%s", cvy_last_error());
    }
  }
  print_message("%d checked, %d skipped\n", counts.checked, counts.skipped);
  assert_true(counts.checked > 400 && counts.skipped == 0);
  /* Of the only input it is what was given. */
  cvy_problem one = read("concatenate n3 w5");
  assert_int_equal(cvy_problem_gradient(&one, 1, 1, &g), CONVOY_OK);
  assert_int_equal(g.steps, 0);
  assert_int_equal(g.of[0].source, CVY_GRADIENT_OF_OUTPUT);
}

static void what_is_wrong_is_said(void **state) {
  static const struct {
    const char *text, *sentence;
    convoy_status status;
  } cases[] = {
      {"concatenate w5", "expected concatenate n", CONVOY_ERR_ARGUMENT},
      {"concatenate n5", "expected  w", CONVOY_ERR_ARGUMENT},
      {"concatenate n5 w", "a number", CONVOY_ERR_ARGUMENT},
      {"concatenate n5 w3,", "a number", CONVOY_ERR_ARGUMENT},
      {"concatenate n5 w3:int16", "a comma, :int32, :uint8 or the end", CONVOY_ERR_ARGUMENT},
      {"concatenate n5 w3 ", "or the end", CONVOY_ERR_ARGUMENT},
      {"concatenate n5 w1,1,1,1,1,1,1,1,1,1,1,1,1", "no more than 12", CONVOY_ERR_ARGUMENT},
      {"concatenate n9999999999 w9999999999", "bytes of y overflow", CONVOY_ERR_SHAPE},
      {"concatenate n1 w9223372036854775807,9", "bytes of y overflow", CONVOY_ERR_SHAPE},
      {"", "expected concatenate n", CONVOY_ERR_ARGUMENT},
  };
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_problem problem;
    convoy_status status = cvy_move_concatenate_read(cases[i].text, &problem);
    if (status != cases[i].status || !strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("%s: %d, \"%s\"", cases[i].text, (int)status, cvy_last_error());
  }
}

static void bytes_of_others_are_refused(void **state) {
  cvy_problem good = read("concatenate n3 w4,8:int32,12");
  (void)state;
  for (size_t at = CVY_PROBLEM_HEAD; at < cvy_problem_size(&good); at++) {
    cvy_problem bad = good;
    ((unsigned char *)&bad)[at] ^= 0x80;
    size_t in = at - CVY_PROBLEM_HEAD;
    bool word =
        in < offsetof(cvy_move_concatenate, images) ||
        (in >= offsetof(cvy_move_concatenate, dtype) && in < offsetof(cvy_move_concatenate, x));
    if (word || in % 8 == 7) assert_false(cvy_problem_legal(&bad));
  }
  cvy_problem bad = good;
  bad.accumulate = 1;
  assert_false(cvy_problem_legal(&bad));
  bad = good;
  bad.move.concatenate.width[3] = 4; /* behind the last */
  assert_false(cvy_problem_legal(&bad));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_problem_is_as_its_text_says), cmocka_unit_test(places_have_words),
      cmocka_unit_test(gradients_are_the_differences),     cmocka_unit_test(what_is_wrong_is_said),
      cmocka_unit_test(bytes_of_others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
