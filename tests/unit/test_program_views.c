/* Programs and reductions whose operands are parts of larger tensors: there are gaps between
 * images, of results, too. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "problem/fuse.h"
#include "problem/operation.h"

static cvy_problem read_problem(const char *text) {
  cvy_problem out;
  if (!cvy_problem_read(text, &out)) fail_msg("%s", text);
  return out;
}

/* Programs say how inputs lie by strides; images that are apart are a batch. */
static void programs_have_images_with_gaps(void **state) {
  (void)state;
  cvy_problem p = read_problem(
      "y0 = x0 * x1 on n3c4h5w6 x0:strides=130,30,0,6,1 x1:channel y0:strides=121,30,0,6,1");
  cvy_array x = cvy_problem_input(&p, 0), y = cvy_problem_output(&p, 0);
  assert_int_equal(cvy_problem_batch(&p), CVY_BATCH_INDEPENDENT);
  assert_int_equal(cvy_array_bytes(&x), (2 * 130 + 120) * 4);
  assert_int_equal(cvy_array_image(&x, 1), 130);
  assert_int_equal(cvy_array_count(&y), 360);
  assert_int_equal(cvy_array_reach(&y), 2 * 121 + 120);
  assert_int_equal(cvy_array_place(&y, 240), 242);
  cvy_problem_set_images(&p, 2);
  assert_true(cvy_problem_legal(&p));
  assert_int_equal(cvy_problem_output_bytes(&p, 0), (121 + 120) * 4);
  p = read_problem("y0 = sum over h w of x0 on n3c0h5w6 x0:strides=130,0,0,6,1");
  assert_int_equal(cvy_problem_input_bytes(&p, 0), 0);
}

/* What is written and what is read is where it was, of results that are kept, too. */
static void programs_that_become_one_write_the_same_places(void **state) {
  (void)state;
  cvy_problem first = read_problem("y0 = x0 * 2 on n3c4h5w6 y0:strides=150,30,0,6,1");
  cvy_problem second =
      read_problem("y0 = x0 + 1 on n3c4h5w6 x0:strides=150,30,0,6,1 y0:strides=121,30,0,6,1");
  cvy_problem sum = read_problem(
      "y0 = sum over h w of x0 on n3c4h5w6 x0:strides=150,30,0,6,1 y0:strides=9,1,0,0,0");
  cvy_problem dense = read_problem("y0 = x0 + 1 on n3c4h5w6"), flat = dense;
  static const int32_t array[] = {1, 2, 3};
  const cvy_bound a = {&first, array, array + 1}, b = {&second, array + 1, array + 2};
  const cvy_bound reduced = {&sum, array + 1, array + 2};
  cvy_fused fused;
  char text[CONVOY_PROBLEM_TEXT];
  assert_true(cvy_problem_fuse(&a, &b, 1, &fused));
  cvy_problem_text(&fused.problem, text, sizeof text);
  assert_string_equal(text,
                      "let t0 = x0 * 2; y0 = t0; y1 = t0 + 1 on n3c4h5w6 "
                      "y0:strides=150,30,0,6,1 y1:strides=121,30,0,6,1");
  assert_true(cvy_problem_fuse(&a, &reduced, 0, &fused));
  cvy_problem_text(&fused.problem, text, sizeof text);
  assert_string_equal(text, "y0 = sum over h w of x0 * 2 on n3c4h5w6 y0:strides=9,1,0,0,0");
  const cvy_bound elsewhere = {&dense, array + 1, array + 2};
  assert_false(cvy_problem_fuse(&a, &elsewhere, 0, &fused));
  /* Other names for the extents would be other places. */
  flat = read_problem("y0 = x0 + 1 on n3c120");
  const cvy_bound renamed = {&flat, array + 1, array + 2};
  assert_false(cvy_problem_fuse(&a, &renamed, 0, &fused));
}

/* Where the gradient for a result would lie is not known. */
static void gradients_are_made_before(void **state) {
  (void)state;
  cvy_gradient *gradient = malloc(sizeof *gradient);
  cvy_problem p = read_problem("y0 = x0 * x0 on n3c4h5w6 y0:strides=200,30,0,6,1"), apart;
  assert_non_null(gradient);
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, gradient), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "parts of larger tensors"));
  cvy_problem_apart(&p, &apart);
  assert_int_equal(cvy_problem_gradient(&apart, 1, 1, gradient), CONVOY_OK);
  free(gradient);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_have_images_with_gaps),
      cmocka_unit_test(programs_that_become_one_write_the_same_places),
      cmocka_unit_test(gradients_are_made_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
