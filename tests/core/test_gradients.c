/* Gradients of captured operations: what convoy_gradients notes, and what it refuses. */
#include <stdlib.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/fake.h"
#include "core/open.h"

static void gradients(convoy_context *context, convoy_tensor *y, convoy_tensor *dy,
                      convoy_tensor *of, convoy_tensor *out) {
  assert_int_equal(convoy_gradients(context, y, dy, 1, &of, &out), CONVOY_OK);
}

static void multiply(convoy_context *context, convoy_tensor *a, convoy_tensor *b,
                     convoy_tensor *y) {
  assert_int_equal(convoy_multiply(context, a, b, y, NULL), CONVOY_OK);
}

/* y = x w + x: dy/dx = w + 1, of which 1 is added last, and dy/dw = x. */
static void several_uses_are_added(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    convoy_tensor *x = filled(context, 3), *w = filled(context, 5), *y = filled(context, 0),
                  *dy = filled(context, 2), *dx = filled(context, 0), *dw = filled(context, 0);
    convoy_tensor *of[] = {x, w}, *out[] = {dx, dw};
    begin(context);
    convoy_tensor *product = filled(context, 0);
    multiply(context, x, w, product);
    add(context, product, x, y);
    assert_int_equal(convoy_gradients(context, y, dy, 2, of, out), CONVOY_OK);
    convoy_tensor_free(product);
    convoy_graph *graph = end(context);
    run(graph);
    expect(y, 18);
    expect(dx, 12);
    expect(dw, 6);
    fill(dy, 1);
    fill(w, 1);
    run(graph);
    expect(dx, 2);
    convoy_graph_free(graph);
    convoy_tensor *const all[] = {x, w, y, dy, dx, dw};
    for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
    convoy_close(context);
  }
}

/* Three uses of x, whose parts of the gradient are a, b and c in the order of capture: with these
 * numbers a float shows in which order they were added. */
static float sum_of_uses(const char *passes, float a, float b, float c) {
  setenv("CONVOY_GRAPH_PASSES", passes, 1);
  convoy_context *context = open_named("fake", CONVOY_ON);
  const float factor[] = {a, b, c};
  convoy_tensor *x = filled(context, 1), *y = filled(context, 0), *dy = filled(context, 1),
                *dx = filled(context, 0), *by[3];
  float values[COUNT];
  for (int i = 0; i < 3; i++) by[i] = filled(context, factor[i]);
  begin(context);
  for (int i = 0; i < 3; i++) {
    convoy_tensor *product = filled(context, 0);
    multiply(context, x, by[i], product);
    if (i > 0)
      add(context, y, product, y);
    else
      add(context, product, product, y);
    convoy_tensor_free(product);
  }
  gradients(context, y, dy, x, dx);
  convoy_graph *graph = end(context);
  run(graph);
  assert_int_equal(convoy_tensor_read(dx, values, COUNT), CONVOY_OK);
  convoy_graph_free(graph);
  convoy_tensor *const all[] = {x, y, dy, dx, by[0], by[1], by[2]};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
  unsetenv("CONVOY_GRAPH_PASSES");
  return values[COUNT - 1];
}

/* The first product counts twice. */
static void uses_are_added_from_the_last_to_the_first(void **state) {
  (void)state;
  static const char *const passes[] = {"none",  "common", "fuse",
                                       "merge", "views",  "common,fuse,merge,views"};
  for (size_t i = 0; i < CVY_COUNT(passes); i++) {
    assert_true(sum_of_uses(passes[i], 0.5f, 1e8f, -1e8f) == 1.0f);
    assert_true(sum_of_uses(passes[i], 5e7f, -1e8f, 1.0f) == 0.0f);
  }
}

/* Of a loss, one number, and of a tensor that it does not depend on; of the loss itself it is 1. */
static void a_loss_needs_no_gradient_of_its_own(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  const int64_t one[] = {1, 1, 1};
  convoy_program *sum = program_of("s = sum over n c w of x * x");
  convoy_tensor *x = filled(context, 3), *other = filled(context, 5), *dx = filled(context, 0),
                *nothing = filled(context, 7), *s = tensor_of(context, one, NULL),
                *ds = tensor_of(context, one, NULL);
  convoy_tensor *of[] = {x, other, s}, *out[] = {dx, nothing, ds}, *operands[] = {x, s};
  begin(context);
  assert_int_equal(apply_to(context, sum, operands, NULL), CONVOY_OK);
  assert_int_equal(convoy_gradients(context, s, NULL, 3, of, out), CONVOY_OK);
  convoy_graph *graph = end(context);
  run(graph);
  expect(dx, 6);
  expect(nothing, 0);
  check_tensor(s, (const float[]){54});
  check_tensor(ds, (const float[]){1});
  convoy_graph_free(graph);
  convoy_program_free(sum);
  convoy_tensor *const all[] = {x, other, dx, nothing, s, ds};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
}

/* d(x^3)/dx = 3 x^2, and of that 6 x. */
static void gradients_have_gradients(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_program *cube = program_of("y = x * x * x");
  convoy_tensor *x = filled(context, 2), *y = filled(context, 0), *one = filled(context, 1),
                *first = filled(context, 0), *second = filled(context, 0);
  convoy_tensor *operands[] = {x, y};
  begin(context);
  assert_int_equal(apply_to(context, cube, operands, NULL), CONVOY_OK);
  gradients(context, y, one, x, first);
  gradients(context, first, one, x, second);
  convoy_graph *graph = end(context);
  run(graph);
  expect(first, 12);
  expect(second, 12);
  convoy_graph_free(graph);
  convoy_program_free(cube);
  convoy_tensor *const all[] = {x, y, one, first, second};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

/* A maximum's gradient is constant between the places where another element becomes the largest. */
static void what_has_no_gradient_is_named(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_window window = CONVOY_WINDOW_INIT(1);
  window.extent[0] = window.stride[0] = 2;
  const int64_t half[] = {1, 2, 1};
  const int64_t whole[] = {1, 2, 2};
  convoy_tensor *x = tensor_of(context, whole, NULL), *y = tensor_of(context, half, NULL),
                *dy = tensor_of(context, half, NULL), *dx = tensor_of(context, whole, NULL),
                *ddx = tensor_of(context, whole, NULL), *out = tensor_of(context, half, NULL);
  begin(context);
  assert_int_equal(convoy_max_pool(context, &window, x, y, NULL), CONVOY_OK);
  gradients(context, y, dy, x, dx);
  assert_int_equal(convoy_gradients(context, dx, ddx, 1, &dy, &out), CONVOY_ERR_UNSUPPORTED);
  check_says(convoy_last_error(), "max_pool_backward");
  assert_int_equal(convoy_capture_end(context, NULL), CONVOY_OK);
  convoy_tensor *const all[] = {x, y, dy, dx, ddx, out};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

static void refused_gradients_note_nothing(void **state) {
  (void)state;
  struct {
    convoy_context *context;
    convoy_tensor *x, *w, *s;
    convoy_graph *graph;
  } t = {.context = open_named("cpu", CONVOY_ON)};
  convoy_tensor *small = tensor_of(t.context, (const int64_t[]){1, 1, 3}, NULL);
  convoy_tensor *twice[2], *same[2];
  char before[2000], after[2000];
  t.x = filled(t.context, 1), t.w = filled(t.context, 2), t.s = filled(t.context, 0);
  twice[0] = twice[1] = t.x;
  same[0] = same[1] = t.s;
  convoy_tensor *dy = filled(t.context, 1);
  expect_refused(convoy_gradients(t.context, t.w, dy, 1, &t.x, &t.s), "no capture");
  for (int refused = 0; refused < 2; refused++) {
    begin(t.context);
    add(t.context, t.x, t.w, t.w);
    if (refused) {
      expect_refused(convoy_gradients(t.context, t.x, dy, 1, &t.x, &t.s), "no result");
      expect_refused(convoy_gradients(t.context, t.w, NULL, 1, &t.x, &t.s), "dy is NULL");
      expect_refused(convoy_gradients(t.context, t.w, dy, 0, &t.x, &t.s), "0 tensors");
      expect_refused(convoy_gradients(t.context, t.w, dy, 2, twice, same), "same tensor");
      expect_refused(convoy_gradients(t.context, t.w, dy, 1, &t.w, &t.s), "has been written");
      expect_refused(convoy_gradients(NULL, t.w, dy, 1, &t.x, &t.s), "context");
      assert_int_equal(convoy_gradients(t.context, t.w, small, 1, &t.x, &t.s), CONVOY_ERR_SHAPE);
      assert_int_equal(convoy_gradients(t.context, t.w, dy, 1, &t.x, &small), CONVOY_ERR_SHAPE);
    }
    t.graph = end(t.context);
    assert_int_equal(convoy_graph_text(t.graph, refused ? after : before, sizeof before),
                     CONVOY_OK);
    if (!refused) convoy_graph_free(t.graph);
  }
  assert_string_equal(before, after);
  convoy_graph_free(t.graph);
  convoy_tensor *const all[] = {small, dy, t.x, t.w, t.s};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(t.context);
}

static void copy(const convoy_tensor *from, convoy_tensor *to) {
  assert_int_equal(convoy_tensor_copy(from, to), CONVOY_OK);
}

/* By an operation, by way of another copy, or not at all: then it is another tensor by now. */
static void copies_that_were_written_since_are_refused(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *x = filled(context, 3), *w = filled(context, 2), *h = filled(context, 0),
                *again = filled(context, 0), *y = filled(context, 0), *z = filled(context, 0),
                *dy = filled(context, 1), *dh = filled(context, 0);
  begin(context);
  copy(x, h);
  multiply(context, h, h, y);
  copy(h, again);
  gradients(context, y, dy, h, dh);
  add(context, w, w, h);
  multiply(context, again, w, z);
  expect_refused(convoy_gradients(context, y, dy, 1, &h, &dh), "has been written");
  expect_refused(convoy_gradients(context, z, dy, 1, &h, &dh), "has been written");
  assert_int_equal(convoy_capture_end(context, NULL), CONVOY_OK);
  begin(context);
  copy(x, h);
  add(context, w, w, h);
  multiply(context, x, h, y);
  gradients(context, y, dy, h, dh);
  convoy_graph *graph = end(context);
  run(graph);
  expect(dh, 3);
  convoy_graph_free(graph);
  convoy_tensor *const all[] = {x, w, h, again, y, z, dy, dh};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

/* What a copy has put there is written, too: y is x then, and y twice. */
static void a_copy_has_gradients(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *x = filled(context, 3), *y = filled(context, 0), *dy = filled(context, 5),
                *dx = filled(context, 0), *bytes, *numbers;
  convoy_tensor **typed[] = {&bytes, &numbers};
  for (int i = 0; i < 2; i++)
    assert_int_equal(convoy_tensor_new_typed(context, CONVOY_UINT8, 3, capturing_shape, typed[i]),
                     CONVOY_OK);
  begin(context);
  copy(x, y);
  copy(bytes, numbers);
  gradients(context, y, dy, x, dx);
  expect_refused(convoy_gradients(context, numbers, dy, 1, &x, &dx), "no result");
  convoy_graph *graph = end(context);
  run(graph);
  expect(dx, 5);
  convoy_graph_free(graph);
  convoy_tensor *const all[] = {x, y, dy, dx, bytes, numbers};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(several_uses_are_added, capturing_reset),
      cmocka_unit_test_setup(a_loss_needs_no_gradient_of_its_own, capturing_reset),
      cmocka_unit_test_setup(gradients_have_gradients, capturing_reset),
      cmocka_unit_test_setup(uses_are_added_from_the_last_to_the_first, capturing_reset),
      cmocka_unit_test_setup(what_has_no_gradient_is_named, capturing_reset),
      cmocka_unit_test_setup(refused_gradients_note_nothing, capturing_reset),
      cmocka_unit_test_setup(copies_that_were_written_since_are_refused, capturing_reset),
      cmocka_unit_test_setup(a_copy_has_gradients, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
