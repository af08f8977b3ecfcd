/* src/problem/move: legality, fewest axes, texts, definition against the reference, images, and
 * gradients against differences. */
#include "problem/move/move.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "ref/move.h"
#include "unit/gradient_check.h"

enum { MOST = 4096 };

/* As they are printed, and how many axes they have once they are made. */
static const struct {
  const char *text;
  int32_t axes;
} copies[] = {
    {"copy x24 by1 y24", 1},
    {"copy x24 by1,4 y4,6", 2},
    {"copy x24 by12,4,1 y2,3,4", 1},
    {"copy x24 by0,1 y5,24", 2},
    {"copy x24 by0,0,1 y5,2,24", 2},
    {"copy x24 from23 by-1 y24", 1},
    {"copy x60 from20 by20,5,1 y2,4,5", 1},
    {"copy x60 from21 by20,5,1 y2,4,3", 2},
    {"copy x60 by20,10,1 y3,2,5", 2},
    {"copy x24 by4,1 y8,4 take6,4 at1,0", 1},
    {"copy x24 by4,1 y6,8 take6,4 at0,2 fill-1.5", 2},
    {"copy x24 by4,1 y11,7 take6,4 step2 fillinf", 2},
    {"copy x24 by4,0 y6,3 take6,1", 1},
    {"copy x24 from4 by0,1 y6,4 take1,4 at3,0", 1},
    {"copy x24 by0,0 y6,3 take0,0 fillnan", 1},
    {"copy x24:int32 by1 y24", 1},
    {"copy x24:uint8 from3 by4 y6", 1},
    {"copy x0 by0 y5 take0", 1},
    {"copy x5 by0,0 y0,3 take0,0", 1},
    {"copy x6 from1 by2,1 y2,3", 2}, /* windows that overlap */
    {"copy x256 by128,64,32,16,8,4,2,1 y2,2,2,2,2,2,2,2", 1},
    {"copy x256 by1,2,4,8,16,32,64,128 y2,2,2,2,2,2,2,2", 8},
};

static void read_copy(const char *text, convoy_box *box, cvy_problem *out) {
  convoy_dtype dtype;
  int64_t elements;
  if (cvy_move_copy_read(text, box, &dtype, &elements) ||
      cvy_move_copy_take(box, dtype, elements, out))
    fail_msg("%s: %s", text, cvy_last_error());
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

/* Nothing may look behind a problem's own bytes. */
static void check_bytes(const cvy_problem *problem) {
  cvy_problem kept;
  memset(&kept, 0xa5, sizeof kept);
  cvy_problem_copy(&kept, problem);
  assert_true(cvy_problem_legal(&kept));
  assert_true(cvy_problem_equal(&kept, problem));
  assert_int_equal(cvy_problem_hash(&kept), cvy_problem_hash(problem));
}

/* Each image of the whole is the only one of the problem with one. */
static void check_images(const cvy_problem *problem) {
  int64_t images = cvy_problem_images(problem);
  cvy_array y = cvy_problem_output(problem, 0);
  assert_true(y.per_image);
  assert_int_equal(y.extent[0], images);
  if (cvy_problem_batch(problem) == CVY_BATCH_COUPLED) {
    assert_in_range(images, 0, 1);
    return;
  }
  cvy_problem part;
  cvy_problem_copy(&part, problem);
  cvy_problem_set_images(&part, 1);
  assert_true(images == 0 || cvy_problem_legal(&part));
  cvy_array x = cvy_problem_input(problem, 0), one = cvy_problem_input(&part, 0);
  assert_int_equal(cvy_array_count(&x), cvy_array_count(&one) * (x.per_image ? images : 1));
  cvy_problem_set_images(&part, 0);
  assert_true(cvy_problem_empty(&part));
  assert_true(cvy_problem_legal(&part));
}

static void *values_of(test_random *random, const cvy_problem *problem) {
  static uint8_t room[4 * MOST];
  const cvy_move_copy *p = &problem->move.copy;
  assert_in_range(p->elements, 0, MOST);
  for (int64_t i = 0; i < p->elements; i++) {
    int64_t value = test_between(random, INT32_MIN, INT32_MAX);
    float real = (float)value / 1024.0f;
    int32_t number = (int32_t)value;
    if (p->dtype == CONVOY_UINT8)
      room[i] = (uint8_t)value;
    else
      memcpy(room + 4 * i, p->dtype == CONVOY_INT32 ? (void *)&number : &real, 4);
  }
  return room;
}

static bool is_same(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

/* All elements as the reference has them, of the problem with the axes that were given and of that
 * with the fewest; and of its images, one by one. */
static void check_elements(const char *text, const convoy_box *box, const cvy_problem *given) {
  test_random random = {3};
  cvy_problem made, part;
  const cvy_move_copy *p = &given->move.copy;
  const void *x = values_of(&random, given);
  assert_int_equal(cvy_move_copy_make(box, (convoy_dtype)p->dtype, p->elements, &made), CONVOY_OK);
  assert_true(cvy_problem_legal(&made));
  int64_t results = cvy_move_copy_results(p), images = cvy_problem_images(&made);
  assert_int_equal(cvy_move_copy_results(&made.move.copy), results);
  cvy_problem_copy(&part, &made);
  bool apart = cvy_problem_batch(&made) == CVY_BATCH_INDEPENDENT;
  if (apart) cvy_problem_set_images(&part, 1);
  for (int64_t i = 0; i < results; i++) {
    double wanted = ref_copy(box, (convoy_dtype)p->dtype, x, i).value;
    cvy_values from = {{x}};
    if (!is_same(cvy_problem_element(given, &from, 0, i).value, wanted) ||
        !is_same(cvy_problem_element(&made, &from, 0, i).value, wanted))
      fail_msg("%s: [%d] is not %g", text, (int)i, wanted);
    if (!apart) continue;
    int64_t each = results / images, image = i / each;
    cvy_array one = cvy_problem_input(&part, 0);
    if (cvy_problem_input(&made, 0).per_image)
      from.in[0] = (const float *)(const void *)((const char *)x + image * cvy_array_bytes(&one));
    if (!is_same(cvy_problem_element(&part, &from, 0, i % each).value, wanted))
      fail_msg("%s, image %d: [%d] is not %g", text, (int)image, (int)i, wanted);
  }
}

static void every_copy_is_as_its_text_says(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(copies); t++) {
    convoy_box box, again;
    cvy_problem problem, made;
    read_copy(copies[t].text, &box, &problem);
    check_text(copies[t].text, &problem);
    check_bytes(&problem);
    check_images(&problem);
    check_elements(copies[t].text, &box, &problem);
    cvy_move_copy_spell(&problem, &again);
    const cvy_move_copy *p = &problem.move.copy;
    assert_int_equal(cvy_move_copy_make(&again, (convoy_dtype)p->dtype, p->elements, &made),
                     CONVOY_OK);
    if (made.move.copy.axes != copies[t].axes)
      fail_msg("%s: %d axes, not %d", copies[t].text, (int)made.move.copy.axes,
               (int)copies[t].axes);
  }
}

/* A box of up to 4 axes, of an x that its strides reach within, overlapping or not. */
static int64_t random_box(test_random *random, convoy_box *box) {
  int64_t first = 0, last = 0;
  *box = (convoy_box)CONVOY_BOX_INIT((int32_t)test_between(random, 1, 4));
  box->fill = (float)test_between(random, -2, 2);
  for (int axis = 0; axis < box->axes; axis++) {
    int64_t extent = box->extent[axis] = test_between(random, 1, 7);
    int64_t step = box->step[axis] = test_between(random, 0, 3) ? 1 : test_between(random, 1, 3);
    int64_t most = (extent - 1) / step + 1;
    int64_t count = box->count[axis] =
        test_between(random, 0, 3) ? most : test_between(random, test_between(random, 0, 1), most);
    box->begin[axis] = test_between(random, 0, count ? extent - 1 - step * (count - 1) : extent);
    box->stride[axis] = test_between(random, -8, 8);
    if (test_between(random, 0, 2) == 0) box->stride[axis] = test_between(random, 0, 1) * 12;
    int64_t reach = count ? box->stride[axis] * (count - 1) : 0;
    *(reach < 0 ? &first : &last) += reach;
  }
  box->offset = -first + test_between(random, 0, 3);
  return box->offset + last + 1 + test_between(random, 0, 5);
}

static void any_copy_is_the_references(void **state) {
  (void)state;
  test_random random = {7};
  char text[CONVOY_PROBLEM_TEXT];
  for (int i = 0; i < 4000; i++) {
    convoy_box box;
    cvy_problem problem;
    int64_t elements = random_box(&random, &box);
    convoy_dtype dtype = (convoy_dtype)test_between(&random, 0, CONVOY_DTYPES - 1);
    if (cvy_move_copy_take(&box, dtype, elements, &problem)) fail_msg("%s", cvy_last_error());
    cvy_problem_text(&problem, text, sizeof text);
    check_text(text, &problem);
    check_images(&problem);
    check_elements(text, &box, &problem);
  }
}

/* ------------------------------------------------------------------------------------ gradients */

/* Axes of an array in any order, sliced, turned round and padded, and repeated ones between. */
static int64_t random_view(test_random *random, convoy_box *box) {
  int dims = (int)test_between(random, 1, 4);
  int64_t extent[4], stride[4], elements = 1;
  *box = (convoy_box)CONVOY_BOX_INIT(0);
  for (int axis = dims - 1; axis >= 0; axis--) {
    extent[axis] = test_between(random, 1, 5);
    stride[axis] = elements;
    elements *= extent[axis];
  }
  for (uint32_t left = (1u << dims) - 1; left; box->axes++) {
    int a = box->axes, from = (int)test_between(random, 0, dims - 1);
    bool repeats = a < 4 && test_between(random, 0, 4) == 0;
    while (!repeats && !(left >> from & 1)) from = (from + 1) % dims;
    int64_t step = test_between(random, 0, 2) ? 1 : 2;
    int64_t most = repeats ? 3 : (extent[from] - 1) / step + 1;
    box->count[a] = test_between(random, 1, most);
    box->step[a] = test_between(random, 0, 3) ? 1 : test_between(random, 2, 3);
    box->begin[a] = test_between(random, 0, 3) ? 0 : test_between(random, 1, 2);
    box->extent[a] = box->begin[a] + box->step[a] * (box->count[a] - 1) + 1;
    if (test_between(random, 0, 3) == 0) box->extent[a] += test_between(random, 1, 3);
    if (repeats) continue;
    left &= ~(1u << from);
    int64_t first = test_between(random, 0, extent[from] - 1 - step * (box->count[a] - 1));
    bool turned = test_between(random, 0, 3) == 0;
    box->stride[a] = (turned ? -step : step) * stride[from];
    box->offset += (first + (turned ? step * (box->count[a] - 1) : 0)) * stride[from];
  }
  return elements;
}

static void gradients_are_the_differences(void **state) {
  (void)state;
  test_random random = {5};
  test_gradient_counts counts = {0};
  for (int i = 0; i < 3000; i++) {
    convoy_box box;
    cvy_problem problem;
    int64_t elements = random_view(&random, &box);
    if (cvy_move_copy_make(&box, CONVOY_FLOAT32, elements, &problem))
      fail_msg("%s", cvy_last_error());
    if (cvy_move_copy_results(&problem.move.copy) > 2000) continue;
    if (test_check_gradient(&random, &problem, 1, 1, 3, &counts)) fail_msg("%s", cvy_last_error());
  }
  print_message("%d checked, %d skipped, %d steps\n", counts.checked, counts.skipped, counts.steps);
  assert_true(counts.checked > 5000 && counts.skipped == 0);
}

static void check_steps(const char *text, const char *const *steps) {
  static cvy_gradient g;
  convoy_box box;
  cvy_problem problem;
  char got[CVY_EXAMPLE_TEXT];
  int32_t count = 0;
  read_copy(text, &box, &problem);
  assert_int_equal(cvy_problem_gradient(&problem, 1, 1, &g), CONVOY_OK);
  for (; steps[count]; count++) {
    assert_true(count < g.steps);
    cvy_problem_text(&g.step[count].problem, got, sizeof got);
    assert_string_equal(got, steps[count]);
  }
  assert_int_equal(g.steps, count);
  assert_int_equal(g.of[0].source, count ? CVY_GRADIENT_STEP : CVY_GRADIENT_OF_OUTPUT);
}

/* What is known is not computed, and nothing is copied for its extents alone. */
static void steps_of_gradients(void **state) {
  static const char *const none[] = {NULL};
  static const char *const transposed[] = {"copy x24 by1,6 y6,4", NULL};
  static const char *const padded[] = {"copy x3 by1 y24 take3 at7 step2", NULL};
  static const char *const cropped[] = {"copy x48 from2 by8,1 y6,4", NULL};
  static const char *const summed[] = {"y0 = sum over c of x0 on n6c3z4", NULL};
  static const char *const boxed[] = {"copy x30 from4 by6,1 y4,2",
                                      "y0 = sum over c of x0 on n1c4z2", NULL};
  (void)state;
  check_steps("copy x24 by1 y24", none);
  check_steps("copy x24 by12,4,1 y2,3,4", none);
  check_steps("copy x24 by1,4 y4,6", transposed);
  check_steps("copy x24 from7 by2 y3", padded);
  check_steps("copy x24 by4,1 y6,8 take6,4 at0,2 fill-1.5", cropped);
  check_steps("copy x24 by4,0,1 y6,3,4", summed);
  check_steps("copy x2 by0,1 y5,6 take4,2 at0,4", boxed);
}

static void what_has_no_gradient_is_refused(void **state) {
  static cvy_gradient g;
  static const char *const texts[] = {
      "copy x6 from1 by2,1 y2,3",  /* windows that overlap */
      "copy x20 from3 by5,1 y3,4", /* rows that cross the ends of others */
      "copy x24 by1,1 y4,4",
  };
  convoy_box box;
  cvy_problem problem;
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    read_copy(texts[t], &box, &problem);
    if (cvy_problem_gradient(&problem, 1, 1, &g) != CONVOY_ERR_UNSUPPORTED)
      fail_msg("%s", texts[t]);
    assert_non_null(strstr(cvy_last_error(), "several elements of y, or in an order"));
    assert_non_null(strstr(cvy_last_error(), texts[t]));
  }
  read_copy("copy x24:int32 by1 y24", &box, &problem);
  assert_int_equal(cvy_problem_gradient(&problem, 1, 1, &g), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "x holds integers"));
  read_copy("copy x24 by0,0 y6,3 take0,0", &box, &problem);
  assert_int_equal(cvy_problem_gradient(&problem, 1, 1, &g), CONVOY_OK);
  assert_int_equal(g.of[0].source, CVY_GRADIENT_NONE);
}

/* ------------------------------------------------------------------------------- what is wrong */

static void what_is_wrong_is_said(void **state) {
  static const struct {
    const char *text, *sentence;
    convoy_status status;
  } cases[] = {
      {"copy y24 by1 y24", "expected copy x", CONVOY_ERR_ARGUMENT},
      {"copy x24", "expected by", CONVOY_ERR_ARGUMENT},
      {"copy x24:int16 by1 y24", ":int32, :uint8 or a space", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1,4 y24", "an extent for each stride", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1,1,1,1,1,1,1,1,1 y1", "no more than 8 axes", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 take4,5", "a number for each axis", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 fill", "a number, inf or nan", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 fill1e99", "a number that float32 has", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 fill1 at2", "in this order", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 ", "in this order", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 take25",
       "along axis 0, of extent 24, there are no places 0 + 1 k for 25 elements",
       CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 take12 step3", "places 0 + 3 k for 12 elements", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 take12 step0", "places 0 + 0 k for 12 elements", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y24 take-1", "places 0 + 1 k for -1 elements", CONVOY_ERR_ARGUMENT},
      {"copy x24 by1 y25", "elements 0 to 24 of x are taken, it has 24", CONVOY_ERR_SHAPE},
      {"copy x24 by-1 y2", "elements -1 to 0 of x are taken, it has 24", CONVOY_ERR_SHAPE},
      {"copy x0 by1 y2", "elements 0 to 1 of x are taken, it has 0", CONVOY_ERR_SHAPE},
      {"copy x24 by9223372036854775807,9 y3,3", "places in x overflow", CONVOY_ERR_SHAPE},
      {"copy x1 by0,0 y9999999999,9999999999", "bytes of y overflow", CONVOY_ERR_SHAPE},
      {"copy x9223372036854775807 by1 y1", "x has 9223372036854775807", CONVOY_ERR_SHAPE},
      {"", "expected copy x", CONVOY_ERR_ARGUMENT},
  };
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    convoy_box box;
    convoy_dtype dtype;
    int64_t elements;
    cvy_problem problem;
    convoy_status status = cvy_move_copy_read(cases[i].text, &box, &dtype, &elements);
    if (!status) status = cvy_move_copy_take(&box, dtype, elements, &problem);
    if (status != cases[i].status || !strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("%s: %d, \"%s\"", cases[i].text, (int)status, cvy_last_error());
  }
}

/* Any byte that is not as a call would have made it; whatever is legal reads within x and fits. */
static void bytes_of_others_are_refused(void **state) {
  convoy_box box;
  cvy_problem good;
  (void)state;
  read_copy("copy x60 from20 by20,-5,1 y3,9,8 take2,4,5 at0,1,2 step1,2,1 fill-1.5", &box, &good);
  assert_true(cvy_problem_legal(&good));
  for (size_t at = CVY_PROBLEM_HEAD; at < cvy_problem_size(&good); at++) {
    cvy_problem bad = good;
    ((unsigned char *)&bad)[at] ^= 0x80;
    bool is_fill = at - CVY_PROBLEM_HEAD - offsetof(cvy_move_copy, fill) < sizeof(float);
    bool is_high = (at - CVY_PROBLEM_HEAD) % 8 == 7;
    bool is_head = at < CVY_PROBLEM_HEAD + offsetof(cvy_move_copy, elements) && !is_fill;
    if (is_high || is_head) assert_int_equal(cvy_problem_legal(&bad), is_fill);
  }
  cvy_problem bad = good;
  bad.move.copy.offset = 14;
  assert_false(cvy_problem_legal(&bad));
  bad = good;
  bad.move.copy.count[1] = 0; /* then nothing is taken, and all numbers say so */
  assert_false(cvy_problem_legal(&bad));
  bad = good;
  bad.accumulate = 1;
  assert_false(cvy_problem_legal(&bad));
  bad = good;
  bad.move.copy.stride[3] = 1;
  assert_false(cvy_problem_legal(&bad));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_copy_is_as_its_text_says),
      cmocka_unit_test(any_copy_is_the_references),
      cmocka_unit_test(gradients_are_the_differences),
      cmocka_unit_test(steps_of_gradients),
      cmocka_unit_test(what_has_no_gradient_is_refused),
      cmocka_unit_test(what_is_wrong_is_said),
      cmocka_unit_test(bytes_of_others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
