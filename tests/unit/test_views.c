/* src/problem: operands that are parts of larger tensors. Which are legal, what texts and classes
 * say of them, what counts of arrays mean, and that the definition is that of the same problem on
 * arrays of its own, whatever lies in the gaps. */
#include "problem/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/part.h"
#include "common/random_case.h"
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"
#include "problem/pooling/pooling.h"

static cvy_problem read_problem(const char *text) {
  cvy_problem problem;
  if (!cvy_problem_read(text, &problem)) fail_msg("%s: %s", text, cvy_last_error());
  return problem;
}

/* ------------------------------------------------------------------------------------- views */

static void parts_must_not_overlap_or_overflow(void **state) {
  (void)state;
  const struct {
    cvy_array_view view;
    int64_t images, image;
    bool legal;
  } cases[] = {
      {{0, 0}, 3, 10, true},
      {{0, 1}, 3, 10, false}, /* an array of its own says nothing of its beginning */
      {{10, 0}, 3, 10, true},
      {{9, 0}, 3, 10, false},
      {{9, 0}, 1, 10, false}, /* also of one image: the pitch is that of a tensor */
      {{-10, 0}, 3, 10, false},
      {{12, 2}, 3, 10, true},
      {{14, 2}, 3, 10, false},
      {{14, 1}, 3, 10, true},
      {{15, 1}, 3, 10, false},
      {{16, 3}, 3, 10, false},
      {{16, -1}, 3, 10, false},
      {{16, INT64_MIN}, 3, 10, false},
      {{INT64_MAX / 8, 0}, 1, 10, true},
      {{INT64_MAX / 8, 0}, 2, 10, true},
      {{INT64_MAX / 8, 0}, 3, 10, false},
      {{INT64_MAX / 4 + 1, 0}, 1, 10, false},
      {{INT64_MAX / 4 + 1, 0}, 0, 10, false}, /* no image hides it */
      {{INT64_MAX, 0}, 2, 10, false},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    if (cvy_array_view_legal(&cases[i].view, cases[i].images, cases[i].image) != cases[i].legal)
      fail_msg("case %d: %lld apart", (int)i, (long long)cases[i].view.pitch);
  }
}

static void problems_with_overlapping_images_are_refused(void **state) {
  (void)state;
  cvy_problem p = read_problem("n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 4");
  p.conv.x.pitch = 116;
  assert_false(cvy_problem_legal(&p));
  p.conv.x = (cvy_array_view){0, 2};
  assert_false(cvy_problem_legal(&p));
  p.conv.x = (cvy_array_view){0, 0};
  assert_true(cvy_problem_legal(&p));
  p = read_problem("n3c1h5w6 k2r1s1 backward_bias, y 61 apart by 1");
  p.conv.x = (cvy_array_view){100, 0}; /* it reads none */
  assert_false(cvy_problem_legal(&p));
  p = read_problem("max_pool n2c3h4w4 r2s2 stride2, x 50 apart by 2, y 12 apart by 4");
  p.pooling.dx = (cvy_array_view){100, 0};
  assert_false(cvy_problem_legal(&p));
  p = read_problem("average_pool_backward n2c3h4w4 r2s2 stride2, dx 50 apart by 2");
  p.pooling.x = (cvy_array_view){100, 0};
  assert_false(cvy_problem_legal(&p));
  p = read_problem("matmul a5x7 b7x3, a 9 apart by 1"); /* rows are images, b is the same for all */
  p.matmul.b = (cvy_array_view){100, 0};
  assert_false(cvy_problem_legal(&p));
  p = read_problem("matmul a7x5t b7x3, a 9 apart by 1"); /* terms are, their sum is y */
  p.matmul.y = (cvy_array_view){100, 0};
  assert_false(cvy_problem_legal(&p));
}

/* ------------------------------------------------------------------------------------- texts */

static const char *const texts[] = {
    "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 4",
    "n3c4h5w6 k2r3s3 pad1 forward, y 61 apart by 1",
    "n3c4h5w6 k2r3s3 pad1 forward, x 202 apart by 2, y 60 apart by 4",
    "n3c4h5w6 k2r3s3 pad1 forward, x 202 apart by 2, with bias or activation",
    "n3c4h5w6 k2r3s3 pad1 backward_data, x 202 apart by 2, added to what is there",
    "n3c4h5w6 k2r3s3 pad1 backward_weights, x 202 apart by 2, y 60 apart by 4",
    "n2c3h4w4 k5r2s2 stride2 transposed forward, x 48 apart by 4, y 400 apart by 4",
    "n3c1h5w6 k2r1s1 backward_bias, y 61 apart by 1",
    "max_pool n2c3h4w4 r2s2 stride2, x 50 apart by 2, y 12 apart by 4",
    "max_pool_backward n2c3h4w4 r2s2 stride2, x 50 apart by 2, y 12 apart by 4, dx 48 apart by 1",
    "max_pool_backward n2c3h4w4 r2s2 stride2, dx 48 apart by 1, added to what is there",
    "average_pool n2c3h4w4 r2s2 stride2, y 12 apart by 4",
    "average_pool_backward n2c3h4w4 r2s2 stride2, y 13 apart by 1, dx 48 apart by 1",
    "resample_nearest n2c3h4w4 h8w8, x 50 apart by 2, y 192 apart by 4",
    "resample_nearest_backward n2c3h4w4 h8w8, y 200 apart by 4",
    "resample_linear n2c3h4w4 h5w9 aligned, x 48 apart by 1, y 137 apart by 1",
    "matmul a32x64 b64x10, a 96 apart by 4",
    "matmul a32x64 b64x10, a 64 apart by 4, y 11 apart by 1",
    "matmul a32x64t b32x10, a 66 apart by 2, b 10 apart by 2",
    "matmul a3x9x7 b3x7x5, a 64 apart by 4, b 35 apart by 1, y 46 apart by 2",
    "matmul a3x9x7 b3x7x5 sum, a 64 apart by 4, b 36 apart by 1, added to what is there",
    "matmul a3x9x7 b7x5, y 46 apart by 2",
    "matmul a3x9x7t b9x5, a 63 apart by 1, y 36 apart by 4",
    "y0 = max(x0, 0) on n3c4h5w6 y0:strides=200,30,0,6,1",
    "y0 = x0 * x1 on n3c4h5w6 x0:strides=130,30,0,6,1 x1:channel y0:strides=121,30,0,6,1",
    "y0 = x0 + 1; y1 = x0 - 1 on n3c4h5w6 y1:strides=150,30,0,6,1",
    "y0 = mean over h w of x0; y1 = variance over h w of x0 on n3c4h5w6 y1:strides=9,1,0,0,0",
};

static void texts_come_back(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    char again[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], same[CVY_CLASS_TEXT];
    cvy_problem problem = read_problem(texts[i]);
    assert_true(cvy_problem_legal(&problem));
    cvy_class_example(&problem, again, sizeof again);
    assert_string_equal(again, texts[i]);
    cvy_shape_class(&problem, class, sizeof class);
    assert_true(cvy_class_of_example(texts[i], same, sizeof same));
    assert_string_equal(class, same);
  }
}

static void wrong_texts_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart",
      "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 3",
      "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 8",
      "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 0",
      "n3c4h5w6 k2r3s3 pad1 forward, x 0200 apart by 4",
      "n3c4h5w6 k2r3s3 pad1 forward, x 0 apart by 4",
      "n3c4h5w6 k2r3s3 pad1 forward, x -200 apart by 4",
      "n3c4h5w6 k2r3s3 pad1 forward, x 119 apart by 1",
      "n3c4h5w6 k2r3s3 pad1 forward, x 99999999999999999999 apart by 1",
      "n3c4h5w6 k2r3s3 pad1 forward, y 200 apart by 4, x 200 apart by 4",
      "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 4,",
      "n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 4 ",
      "n3c4h5w6 k2r3s3 pad1 forward, dx 200 apart by 4",
      "n3c1h5w6 k2r1s1 backward_bias, x 200 apart by 1",
      "max_pool n2c3h4w4 r2s2 stride2, dx 50 apart by 2",
      "average_pool_backward n2c3h4w4 r2s2 stride2, x 50 apart by 2",
      "resample_nearest n2c3h4w4 h8w8, x 47 apart by 1",
      "resample_nearest n2c3h4w4 h8w8, y 200 apart by 4, x 50 apart by 2",
      "resample_linear n2c3h4w4 h8w8, dx 50 apart by 2",
      "max_pool n2c3h4w4 r2s2 stride2 , x 50 apart by 2",
      "matmul a32x64 b64x10, a 63 apart by 1",
      "matmul a32x64 b64x10, b 640 apart by 4",
      "matmul a32x64 b64x10, x 64 apart by 4",
      "matmul a3x9x7 b7x5, a 62 apart by 2",
      "y0 = max(x0, 0) on n3c4h5w6 y0:strides=119,30,0,6,1",
      "y0 = max(x0, 0) on n3c4h5w6 y0:strides=200,31,0,6,1",
      "y0 = max(x0, 0) on n3c4h5w6 y0:strides=200,30,0,6",
      "y0 = max(x0, 0) on n3c4h5w6 y0:strides=200,30,0,6,1:int32",
      "y0 = max(x0, 0) on n3c4h5w6 y0:channel",
      "y0 = max(x0, 0) on n3c4h5w6 y1:strides=200,30,0,6,1",
      "y0 = max(x0, 0) on n1c4h5w6 y0:strides=200,30,0,6,1",
      "y0 = sum over h w of x0 on n3c4h5w6 y0:strides=200,30,0,6,1",
      "y0 = sum over n of x0 on n3c4h5w6 y0:strides=200,30,0,6,1",
  };
  for (size_t i = 0; i < CVY_COUNT(wrong); i++) {
    cvy_problem problem;
    if (cvy_problem_read(wrong[i], &problem)) fail_msg("%s", wrong[i]);
  }
}

/* No public text has them. */
static void public_texts_know_none(void **state) {
  (void)state;
  convoy_conv conv;
  convoy_direction direction;
  convoy_pool what;
  convoy_window window;
  cvy_problem problem;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  assert_int_equal(cvy_parse_problem(texts[0], &conv, x, w, &direction), CONVOY_ERR_ARGUMENT);
  assert_int_equal(cvy_pooling_read("max_pool n2c3h4w4 r2s2 stride2, y 12 apart by 4", &what,
                                    &window, x, &problem),
                   CONVOY_ERR_ARGUMENT);
}

static void classes_hold_alignment_and_no_pitch(void **state) {
  (void)state;
  char class[CVY_CLASS_TEXT];
  cvy_problem problem =
      read_problem("n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 4, y 61 apart by 1");
  cvy_shape_class(&problem, class, sizeof class);
  assert_string_equal(class, "forward_r2_c2_k1_in0,3,3_small_s1_pad_x4_y1");
  problem.conv.x.pitch = 400;
  char other[CVY_CLASS_TEXT];
  cvy_shape_class(&problem, other, sizeof other);
  assert_string_equal(class, other);
  problem = read_problem("y0 = x0 + 1; y1 = x0 - 1 on n3c4h5w6 y1:strides=150,30,0,6,1");
  cvy_shape_class(&problem, class, sizeof class);
  assert_non_null(strstr(class, "_2v_f_fs"));
}

/* What is compiled in is the alignment, and a choice is for the whole problem. */
static void keys_tell_parts_apart(void **state) {
  (void)state;
  cvy_problem own = read_problem("n3c4h5w6 k2r3s3 pad1 forward"), part = own, other = own;
  part.conv.x = (cvy_array_view){200, 2};
  other.conv.x = (cvy_array_view){400, 2};
  assert_false(cvy_problem_same(&own, &part));
  assert_false(cvy_problem_same(&other, &part));
  uint64_t hash = cvy_problem_space_hash(&own, 0);
  assert_true(cvy_problem_space_hash(&part, 0) == hash);
  assert_true(cvy_problem_space_hash(&other, 0) == hash);
  other.conv.x.aligned = 1;
  uint64_t other_hash = cvy_problem_space_hash(&other, 0);
  assert_false(other_hash == hash);
  other.conv.x.aligned = 0; /* there are vectors of four, or none */
  assert_true(cvy_problem_space_hash(&other, 0) == other_hash);
}

/* Rows with gaps are those of one product; matrices with gaps are not. */
static void products_stack_what_lies_in_rows(void **state) {
  (void)state;
  const struct {
    const char *text;
    cvy_matmul_layout a, b, y;
    int64_t batch, m, k;
  } cases[] = {
      {"matmul a32x64 b64x10, a 96 apart by 4", {96, 96}, {10, 640}, {10, 10}, 1, 32, 64},
      {"matmul a32x64 b64x10, y 11 apart by 1", {64, 64}, {10, 640}, {11, 11}, 1, 32, 64},
      {"matmul a32x64t b32x10, a 66 apart by 2", {66, 66}, {10, 10}, {10, 640}, 1, 64, 32},
      {"matmul a3x9x7 b3x7x5, b 40 apart by 4", {7, 63}, {5, 40}, {5, 45}, 3, 9, 7},
      {"matmul a3x9x7 b7x5, y 46 apart by 2", {7, 63}, {5, 0}, {5, 46}, 3, 9, 7},
      {"matmul a3x9x7 b3x7x5 sum, a 64 apart by 4", {7, 64}, {5, 35}, {5, 0}, 3, 9, 7},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_problem problem = read_problem(cases[i].text);
    cvy_matmul_products of = cvy_matmul_products_of(&problem);
    assert_int_equal(of.p.batch, cases[i].batch);
    assert_int_equal(of.p.m, cases[i].m);
    assert_int_equal(of.p.k, cases[i].k);
    assert_int_equal(of.a.row, cases[i].a.row);
    assert_int_equal(of.b.row, cases[i].b.row);
    assert_int_equal(of.y.row, cases[i].y.row);
    if (of.p.batch == 1) continue; /* there is no next matrix */
    assert_int_equal(of.a.step, cases[i].a.step);
    assert_int_equal(of.b.step, cases[i].b.step);
    assert_int_equal(of.y.step, cases[i].y.step);
  }
}

/* A piece of one product is legal, and known by its class. */
static void a_single_product_has_no_text(void **state) {
  (void)state;
  char text[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT];
  cvy_problem p = read_problem("matmul a3x9x7 b3x7x5, a 64 apart by 4");
  cvy_problem_set_images(&p, 2);
  assert_true(cvy_problem_legal(&p) && cvy_matmul_readable(&p));
  cvy_problem_set_images(&p, 1);
  assert_true(cvy_problem_legal(&p) && !cvy_matmul_readable(&p));
  cvy_class_example(&p, text, sizeof text);
  cvy_shape_class(&p, class, sizeof class);
  assert_string_equal(text, class);
  p = read_problem("matmul a32x64 b64x10, a 96 apart by 4");
  cvy_problem_set_images(&p, 1);
  assert_true(cvy_problem_legal(&p) && cvy_matmul_readable(&p));
}

/* ------------------------------------------------------------------------------------ arrays */

static void arrays_count_elements_and_reach_over_gaps(void **state) {
  (void)state;
  cvy_problem p = read_problem("n3c4h5w6 k2r3s3 pad1 forward, x 200 apart by 4, y 61 apart by 1");
  cvy_array x = cvy_problem_input(&p, 0), w = cvy_problem_input(&p, 1),
            y = cvy_problem_output(&p, 0);
  assert_int_equal(cvy_array_count(&x), 360);
  assert_int_equal(cvy_array_bytes(&x), (2 * 200 + 120) * 4);
  assert_int_equal(cvy_problem_output_bytes(&p, 0), (2 * 61 + 60) * 4);
  assert_int_equal(cvy_array_image(&x, 2), 400);
  assert_int_equal(cvy_array_place(&x, 119), 119);
  assert_int_equal(cvy_array_place(&x, 120), 200);
  assert_int_equal(cvy_array_place(&x, 359), 519);
  assert_int_equal(cvy_array_place(&w, 71), 71);
  assert_int_equal(cvy_array_image(&y, 1), 61);
  assert_true(cvy_problem_bytes(&p) == (360 + 72 + 180) * 4.0); /* gaps are not moved */
  cvy_problem_set_images(&p, 1);
  assert_int_equal(cvy_problem_input_bytes(&p, 0), 120 * 4);
  assert_int_equal(p.conv.x.pitch, 200); /* a piece of the batch lies as the whole */
  cvy_problem_set_images(&p, 0);
  assert_int_equal(cvy_problem_input_bytes(&p, 0), 0);
}

static void copies_leave_gaps_alone(void **state) {
  (void)state;
  cvy_problem p = read_problem("max_pool n3c2h2w2 r1s1, x 11 apart by 1");
  cvy_array x = cvy_problem_input(&p, 0);
  float from[30], to[30];
  for (int i = 0; i < 30; i++) from[i] = (float)i, to[i] = -1.0f;
  cvy_array_copy(&x, to, from);
  for (int i = 0; i < 30; i++) assert_true(to[i] == (i % 11 < 8 ? (float)i : -1.0f));
  cvy_array_zero(&x, to);
  for (int i = 0; i < 30; i++) assert_true(to[i] == (i % 11 < 8 ? 0.0f : -1.0f));
}

static void other_passes_lie_on_their_own(void **state) {
  (void)state;
  cvy_problem out, p = read_problem(texts[2]);
  assert_true(cvy_operation_of(&p)->related(&p, 0, &out));
  assert_true(out.conv.x.pitch == 0 && out.conv.y.pitch == 0 && cvy_problem_legal(&out));
  p = read_problem(texts[9]);
  assert_true(cvy_operation_of(&p)->related(&p, 0, &out));
  assert_true(out.pooling.x.pitch == 0 && out.pooling.dx.pitch == 0 && cvy_problem_legal(&out));
}

static void gradients_are_made_before(void **state) {
  (void)state;
  cvy_gradient *gradient = malloc(sizeof *gradient);
  cvy_problem p = read_problem(texts[1]);
  assert_non_null(gradient);
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, gradient), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "parts of larger tensors"));
  assert_non_null(strstr(cvy_last_error(), "y 61 apart by 1"));
  p.conv.y = (cvy_array_view){0, 0};
  assert_int_equal(cvy_problem_gradient(&p, 1, 1, gradient), CONVOY_OK);
  free(gradient);
}

/* -------------------------------------------------------------------------------- definition */

/* A problem with its operands as parts, and the same on arrays of its own. */
typedef struct pair {
  cvy_problem own, part;
  float *values[CVY_MOST_READ];
  test_part spread[CVY_MOST_READ];
} pair;

static cvy_array_view random_view(test_random *random, int64_t image) {
  int aligned = (int)test_between(random, -1, CVY_ARRAY_VIEW_MOST_ALIGNED);
  if (aligned < 0) return (cvy_array_view){0, 0};
  return (cvy_array_view){test_part_pitch(image, aligned), aligned};
}

static void make_values(test_random *random, pair *of) {
  for (int32_t i = 0; i < cvy_problem_reads(&of->own); i++) {
    cvy_array array = cvy_problem_input(&of->part, i);
    int64_t count = cvy_array_count(&array);
    int64_t images = array.per_image ? array.extent[0] : 1;
    of->values[i] = malloc((size_t)(count + 1) * sizeof(float));
    assert_non_null(of->values[i]);
    test_fill_reals(random, of->values[i], count);
    of->spread[i] = test_part_new(images, images ? count / images : 0, array.view.pitch, 7);
    test_part_put(&of->spread[i], of->values[i]);
  }
}

static void check_elements(const pair *of) {
  cvy_values own = {{NULL}}, part = {{NULL}};
  cvy_array out = cvy_problem_output(&of->part, 0);
  for (int32_t i = 0; i < cvy_problem_reads(&of->own); i++) {
    own.in[i] = of->values[i];
    part.in[i] = of->spread[i].begin;
  }
  for (int64_t i = 0; i < cvy_array_count(&out); i++) {
    cvy_element a = cvy_problem_element(&of->own, &own, 0, i);
    cvy_element b = cvy_problem_element(&of->part, &part, 0, i);
    if (memcmp(&a, &b, sizeof a) == 0) continue;
    char text[CONVOY_PROBLEM_TEXT];
    cvy_problem_text(&of->part, text, sizeof text);
    fail_msg("element %lld of %s: %g, not %g", (long long)i, text, b.value, a.value);
  }
}

static void free_pair(pair *of) {
  for (int32_t i = 0; i < cvy_problem_reads(&of->own); i++) {
    assert_true(test_part_intact(&of->spread[i]));
    test_part_free(&of->spread[i]);
    free(of->values[i]);
  }
}

static void convolutions_of_parts_are_defined_as_of_arrays(void **state) {
  (void)state;
  test_random random = {21};
  int checked = 0;
  for (int i = 0; i < 1200; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
    pair of;
    test_random_conv(&random, &conv, x, w);
    convoy_direction d = (convoy_direction)(i % CONVOY_DIRECTIONS);
    float beta = d != CONVOY_FORWARD && i % 3 == 0 ? 1.0f : 0.0f;
    if (cvy_conv_make(&conv, d, x, w, beta, false, NULL, &of.own)) continue;
    if (cvy_conv_count(&of.own, CVY_X) > 1500 || cvy_conv_count(&of.own, CVY_Y) > 1500) continue;
    of.part = of.own;
    of.part.conv.y = random_view(&random, of.own.conv.k * cvy_out_volume(&of.own));
    if (of.own.operation != CVY_CONV_BACKWARD_BIAS)
      of.part.conv.x = random_view(&random, of.own.conv.c * cvy_in_volume(&of.own));
    assert_true(cvy_problem_legal(&of.part));
    make_values(&random, &of);
    check_elements(&of);
    free_pair(&of);
    checked++;
  }
  assert_true(checked > 100);
}

static void wide_magnitudes_are_the_same(void **state) {
  (void)state;
  static const char *const shapes[] = {"n2c3h6w5 k4r3s3 pad1 forward",
                                       "n2c3h6w5 k4r3s3 pad1 backward_data",
                                       "n2c3h6w5 k4r3s3 pad1 backward_weights"};
  test_random random = {22};
  for (size_t i = 0; i < CVY_COUNT(shapes); i++) {
    pair of = {.own = read_problem(shapes[i])};
    of.part = of.own;
    of.part.conv.x = (cvy_array_view){101, 0};
    of.part.conv.y = (cvy_array_view){124, 2};
    make_values(&random, &of);
    const cvy_values own = {{of.values[0], of.values[1]}};
    const cvy_values part = {{of.spread[0].begin, of.spread[1].begin}};
    cvy_array out = cvy_problem_output(&of.own, 0);
    for (int64_t e = 0; e < cvy_array_count(&out); e++)
      assert_true(cvy_conv_wide_magnitude(&of.own, &own, e, 2) ==
                  cvy_conv_wide_magnitude(&of.part, &part, e, 2));
    free_pair(&of);
  }
}

static void pools_of_parts_are_defined_as_of_arrays(void **state) {
  (void)state;
  static const char *const names[] = {"max_pool", "max_pool_backward", "average_pool",
                                      "average_pool_backward"};
  test_random random = {23};
  for (int i = 0; i < 40; i++) {
    char text[CONVOY_PROBLEM_TEXT];
    cvy_text to = cvy_text_in(text, sizeof text);
    cvy_text_add(&to, "%s n%dc%dh%dw%d r3s2 stride2,1 pad1", names[i % 4],
                 (int)test_between(&random, 1, 3), (int)test_between(&random, 1, 3),
                 (int)test_between(&random, 3, 6), (int)test_between(&random, 2, 6));
    pair of = {.own = read_problem(text)};
    of.own.accumulate = cvy_pooling_is_backward(&of.own) && i % 3 == 0;
    of.part = of.own;
    int64_t c = of.own.pooling.c, in = c * cvy_pooling_in_volume(&of.own);
    of.part.pooling.y = random_view(&random, c * cvy_pooling_out_volume(&of.own));
    if (of.own.operation != CVY_POOLING_AVERAGE_BACKWARD)
      of.part.pooling.x = random_view(&random, in);
    if (cvy_pooling_is_backward(&of.own)) of.part.pooling.dx = random_view(&random, in);
    assert_true(cvy_problem_legal(&of.part));
    make_values(&random, &of);
    check_elements(&of);
    free_pair(&of);
  }
}

static void products_of_parts_are_defined_as_of_arrays(void **state) {
  (void)state;
  static const char *const shapes[] = {"matmul a5x7 b7x3",     "matmul a7x5t b7x3",
                                       "matmul a3x4x6 b3x6x5", "matmul a3x4x6 b3x5x6t",
                                       "matmul a3x4x6 b6x5",   "matmul a3x6x4t b6x5",
                                       "matmul a4x6 b3x6x5",   "matmul a3x4x6 b3x6x5 sum"};
  test_random random = {24};
  for (size_t i = 0; i < 4 * CVY_COUNT(shapes); i++) {
    pair of = {.own = read_problem(shapes[i % CVY_COUNT(shapes)])};
    const cvy_matmul_problem *own = &of.own.matmul;
    of.own.accumulate = i % 2;
    of.part = of.own;
    if (!own->a_shared) of.part.matmul.a = random_view(&random, own->m * own->k);
    if (!own->b_shared) of.part.matmul.b = random_view(&random, own->k * own->n);
    if (!own->summed) of.part.matmul.y = random_view(&random, own->m * own->n);
    assert_true(cvy_problem_legal(&of.part));
    make_values(&random, &of);
    check_elements(&of);
    free_pair(&of);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_must_not_overlap_or_overflow),
      cmocka_unit_test(problems_with_overlapping_images_are_refused),
      cmocka_unit_test(texts_come_back),
      cmocka_unit_test(wrong_texts_are_refused),
      cmocka_unit_test(public_texts_know_none),
      cmocka_unit_test(classes_hold_alignment_and_no_pitch),
      cmocka_unit_test(keys_tell_parts_apart),
      cmocka_unit_test(products_stack_what_lies_in_rows),
      cmocka_unit_test(a_single_product_has_no_text),
      cmocka_unit_test(arrays_count_elements_and_reach_over_gaps),
      cmocka_unit_test(copies_leave_gaps_alone),
      cmocka_unit_test(other_passes_lie_on_their_own),
      cmocka_unit_test(gradients_are_made_before),
      cmocka_unit_test(convolutions_of_parts_are_defined_as_of_arrays),
      cmocka_unit_test(wide_magnitudes_are_the_same),
      cmocka_unit_test(pools_of_parts_are_defined_as_of_arrays),
      cmocka_unit_test(products_of_parts_are_defined_as_of_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
