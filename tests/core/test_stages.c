/* Graphs in stages: whose turn it is, what they leave for each other, and what becomes of that when
 * the device fails. That they compute the same is for test_plans.c. */
#include <stdlib.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/fake.h"
#include "core/graph/graph.h"
#include "core/open.h"

enum { RUNS = 40 };

/* Forward y = (w + x) + x; then backward, with a gradient that comes from outside, w = w + d * y.
 */
typedef struct training {
  convoy_context *context;
  convoy_tensor *x, *w, *y, *d;
  convoy_graph *graph;
  float w_now, y_now;
} training;

static void apply(convoy_context *context, const char *text, convoy_tensor *const *operands) {
  convoy_program *program = program_of(text);
  assert_int_equal(apply_to(context, program, operands, NULL), CONVOY_OK);
  convoy_program_free(program);
}

static training capture_training(convoy_context *context) {
  training t = {.context = context, .w_now = 1};
  t.x = filled(context, 0);
  t.w = filled(context, 1);
  t.y = filled(context, 0);
  t.d = filled(context, 0);
  begin(context);
  convoy_tensor *z = filled(context, 0);
  add(context, t.w, t.x, z);
  add(context, z, t.x, t.y);
  assert_int_equal(convoy_capture_cut(context), CONVOY_OK);
  apply(context, "w = w + d * (z + x)", (convoy_tensor *[]){t.w, t.d, z, t.x, t.w});
  convoy_tensor_free(z);
  t.graph = end(context);
  return t;
}

static void forward(training *t, float x) {
  fill(t->x, x);
  assert_int_equal(convoy_graph_run_stage(t->graph, 0, NULL), CONVOY_OK);
  t->y_now = t->w_now + 2 * x;
}

/* The gradient is -1, 0 or 1, and keeps w small. */
static void backward(training *t) {
  float d = t->w_now > 100 ? -1 : t->w_now < -100 ? 1 : (float)((int)t->y_now % 2);
  fill(t->d, d);
  assert_int_equal(convoy_graph_run_stage(t->graph, 1, NULL), CONVOY_OK);
  t->w_now = t->w_now + d * t->y_now;
}

static void close_training(training *t) {
  convoy_graph_free(t->graph);
  convoy_tensor_free(t->x);
  convoy_tensor_free(t->w);
  convoy_tensor_free(t->y);
  convoy_tensor_free(t->d);
  convoy_close(t->context);
  assert_int_equal(fake_seen.arrays, 0);
  assert_int_equal(fake_seen.plans, 0);
}

static void what_comes_between_is_read(void **state) {
  (void)state;
  for (int plans = 0; plans < 2; plans++)
    for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
      fake_reset();
      if (plans) fake_takes_plans();
      training t =
          capture_training(open_verified(capturing_devices[d], CONVOY_VERIFY_SAMPLE, CONVOY_ON));
      for (int k = 0; k < RUNS; k++) {
        forward(&t, (float)(k % 5));
        expect(t.y, t.y_now);
        backward(&t);
        if (k % 7 == 0) expect(t.w, t.w_now);
      }
      expect(t.w, t.w_now);
      close_training(&t);
    }
}

static void each_stage_has_its_turn(void **state) {
  (void)state;
  training t = capture_training(open_named("cpu", CONVOY_ON));
  expect_refused(convoy_graph_run_stage(t.graph, 1, NULL), "stage 0 is next");
  expect_refused(convoy_graph_run_stage(t.graph, 2, NULL), "has 2");
  expect_refused(convoy_graph_run_stage(t.graph, -1, NULL), "stage -1");
  forward(&t, 1);
  expect(t.y, 3);
  forward(&t, 2); /* gives up the first */
  expect(t.y, 5);
  backward(&t);
  expect_refused(convoy_graph_run_stage(t.graph, 1, NULL), "stage 0 is next");
  expect(t.w, t.w_now);
  uint64_t runs;
  assert_int_equal(convoy_graph_runs(t.graph, &runs), CONVOY_OK);
  assert_int_equal(runs, 1);
  close_training(&t);
}

static void all_stages_are_one_run(void **state) {
  (void)state;
  training t = capture_training(open_named("fake", CONVOY_ON));
  fill(t.x, 2);
  fill(t.d, 1);
  run(t.graph);
  expect(t.y, 5);
  expect(t.w, 6);
  convoy_run told = CONVOY_RUN_INIT;
  assert_int_equal(convoy_graph_run(t.graph, &told), CONVOY_OK);
  assert_string_equal(told.device, "fake:1");
  expect(t.w, 16);
  close_training(&t);
}

static void a_cut_belongs_into_a_capture(void **state) {
  (void)state;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  expect_refused(convoy_capture_cut(context), "no capture");
  begin(context);
  for (int i = 1; i < 64; i++) assert_int_equal(convoy_capture_cut(context), CONVOY_OK);
  expect_refused(convoy_capture_cut(context), "64 stages");
  convoy_graph *graph = end(context);
  run(graph); /* of which none does anything */
  convoy_graph_free(graph);
  convoy_close(context);
}

/* A step's inner values are as many bytes as weights; after it only these are left. */
static void nothing_stays_between_runs(void **state) {
  (void)state;
  fake_takes_plans();
  training t = capture_training(open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON));
  int64_t arrays = 0;
  for (int k = 0; k < RUNS; k++) {
    forward(&t, 1);
    backward(&t);
    expect(t.w, t.w_now);
    if (k == RUNS / 2) arrays = fake_seen.arrays;
    if (k > RUNS / 2) assert_true(fake_seen.arrays <= arrays);
  }
  for (int32_t i = 0; i < t.graph->tensors_between; i++)
    assert_int_equal(t.graph->between[i]->store->array, 0);
  close_training(&t);
}

static void faults_between_stages_lose_nothing(void **state) {
  (void)state;
  for (int plans = 0; plans < 2; plans++)
    for (int64_t at = 1; at < 300; at += 2) {
      fake_reset();
      if (plans) fake_takes_plans();
      training t = capture_training(open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON));
      fake.fail_at = at;
      fake.dies = at % 3 == 0;
      fake.empties = at % 3 == 1;
      for (int k = 0; k < RUNS; k++) {
        forward(&t, (float)(k % 5));
        if (k % 6 == 5) expect(t.y, t.y_now);
        backward(&t);
      }
      expect(t.w, t.w_now);
      expect(t.y, t.y_now);
      close_training(&t);
    }
}

/* ---------------------------------------------------------------------- written, and read later
 */

/* Stage 0: y = x w and old = w by a copy, then w = w / 2. Stage 1, by each way: the gradient of y,
 * the copy, w by its name, and a copy of x made there. */
typedef struct rewriting {
  convoy_context *context;
  convoy_tensor *x, *w, *d, *dx, *was, *is, *late;
  convoy_graph *graph;
} rewriting;

static rewriting capture_rewriting(convoy_context *context) {
  rewriting t = {.context = context};
  convoy_tensor **all[] = {&t.x, &t.w, &t.d, &t.dx, &t.was, &t.is, &t.late};
  for (size_t i = 0; i < CVY_COUNT(all); i++) *all[i] = filled(context, 1);
  begin(context);
  convoy_tensor *y = filled(context, 0), *old = filled(context, 0);
  apply(context, "y = a * b", (convoy_tensor *[]){t.x, t.w, y});
  assert_int_equal(convoy_tensor_copy(t.w, old), CONVOY_OK);
  apply(context, "w = w * 0.5", (convoy_tensor *[]){t.w, t.w});
  assert_int_equal(convoy_capture_cut(context), CONVOY_OK);
  assert_int_equal(convoy_gradients(context, y, t.d, 1, &t.x, &t.dx), CONVOY_OK);
  add(context, old, t.x, t.was);
  add(context, t.w, t.x, t.is);
  assert_int_equal(convoy_tensor_copy(t.x, t.late), CONVOY_OK);
  convoy_tensor_free(y);
  convoy_tensor_free(old);
  t.graph = end(context);
  return t;
}

/* `second` is what the caller writes to x between the stages. */
static void run_rewriting(rewriting *t, float w, float first, float second) {
  fill(t->w, w);
  fill(t->x, first);
  assert_int_equal(convoy_graph_run_stage(t->graph, 0, NULL), CONVOY_OK);
  expect(t->w, w / 2);
  fill(t->x, second);
  assert_int_equal(convoy_graph_run_stage(t->graph, 1, NULL), CONVOY_OK);
}

static void expect_rewritten(const rewriting *t, float w, float second) {
  expect(t->dx, w);
  expect(t->was, w + second);
  expect(t->is, w / 2 + second);
  expect(t->late, second);
}

static void close_rewriting(rewriting *t) {
  convoy_tensor *all[] = {t->x, t->w, t->d, t->dx, t->was, t->is, t->late};
  convoy_graph_free(t->graph);
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(t->context);
  assert_int_equal(fake_seen.arrays, 0);
  assert_int_equal(fake_seen.plans, 0);
}

static void what_a_stage_writes_is_kept_for_later_ones(void **state) {
  (void)state;
  for (int plans = 0; plans < 2; plans++)
    for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
      fake_reset();
      if (plans) fake_takes_plans();
      rewriting t =
          capture_rewriting(open_verified(capturing_devices[d], CONVOY_VERIFY_SAMPLE, CONVOY_ON));
      for (int k = 0; k < 6; k++) {
        run_rewriting(&t, (float)(2 + k), 5, (float)(7 + k % 2));
        expect_rewritten(&t, (float)(2 + k), (float)(7 + k % 2));
      }
      assert_int_equal(convoy_graph_run_stage(t.graph, 0, NULL), CONVOY_OK); /* given up */
      run_rewriting(&t, 12, 1, 1);
      expect_rewritten(&t, 12, 1);
      close_rewriting(&t);
    }
}

static void faults_lose_nothing_that_was_written(void **state) {
  (void)state;
  for (int plans = 0; plans < 2; plans++)
    for (int64_t at = 1; at < 200; at += 2) {
      fake_reset();
      if (plans) fake_takes_plans();
      rewriting t = capture_rewriting(open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON));
      fake.fail_at = at;
      fake.dies = at % 3 == 0;
      fake.empties = at % 3 == 1;
      for (int k = 0; k < 8; k++) {
        run_rewriting(&t, (float)(2 + k), 5, 7);
        if (k % 3 == 0) expect_rewritten(&t, (float)(2 + k), 7);
      }
      expect_rewritten(&t, 9, 7);
      close_rewriting(&t);
    }
}

/* That is a value of the capture as any other, whatever the caller writes meanwhile. */
static void a_tensor_gets_back_what_it_had(void **state) {
  (void)state;
  for (size_t d = 0; d < CVY_COUNT(capturing_devices); d++) {
    fake_reset();
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    convoy_tensor *w = filled(context, 2), *y = filled(context, 0);
    begin(context);
    convoy_tensor *old = filled(context, 0);
    assert_int_equal(convoy_tensor_copy(w, old), CONVOY_OK);
    apply(context, "w = w * 0.5", (convoy_tensor *[]){w, w});
    assert_int_equal(convoy_tensor_copy(old, w), CONVOY_OK);
    assert_int_equal(convoy_capture_cut(context), CONVOY_OK);
    add(context, w, w, y);
    assert_int_equal(convoy_tensor_copy(old, w), CONVOY_OK);
    convoy_tensor_free(old);
    convoy_graph *graph = end(context);
    for (int k = 0; k < 4; k++) {
      fill(w, (float)k);
      assert_int_equal(convoy_graph_run_stage(graph, 0, NULL), CONVOY_OK);
      fill(w, 100);
      assert_int_equal(convoy_graph_run_stage(graph, 1, NULL), CONVOY_OK);
      expect(y, (float)(2 * k));
      expect(w, (float)k);
    }
    convoy_graph_free(graph);
    convoy_tensor_free(w);
    convoy_tensor_free(y);
    convoy_close(context);
  }
}

/* What is between stages has the type that it has. */
static void numbers_of_other_types_are_kept(void **state) {
  (void)state;
  const uint8_t first[COUNT] = {1, 2, 3, 4, 5, 6}, second[COUNT] = {0};
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *y = filled(context, 0), *bytes, *copy;
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_UINT8, 3, capturing_shape, &bytes),
                   CONVOY_OK);
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_UINT8, 3, capturing_shape, &copy),
                   CONVOY_OK);
  begin(context);
  assert_int_equal(convoy_tensor_copy(bytes, copy), CONVOY_OK);
  assert_int_equal(convoy_capture_cut(context), CONVOY_OK);
  apply(context, "y = b + 0", (convoy_tensor *[]){copy, y});
  convoy_tensor_free(copy);
  convoy_graph *graph = end(context);
  assert_int_equal(convoy_tensor_write(bytes, first, COUNT), CONVOY_OK);
  assert_int_equal(convoy_graph_run_stage(graph, 0, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(bytes, second, COUNT), CONVOY_OK);
  assert_int_equal(convoy_graph_run_stage(graph, 1, NULL), CONVOY_OK);
  check_tensor(y, (const float[]){1, 2, 3, 4, 5, 6});
  convoy_graph_free(graph);
  convoy_tensor_free(bytes);
  convoy_tensor_free(y);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_comes_between_is_read, capturing_reset),
      cmocka_unit_test_setup(each_stage_has_its_turn, capturing_reset),
      cmocka_unit_test_setup(all_stages_are_one_run, capturing_reset),
      cmocka_unit_test_setup(a_cut_belongs_into_a_capture, capturing_reset),
      cmocka_unit_test_setup(nothing_stays_between_runs, capturing_reset),
      cmocka_unit_test_setup(faults_between_stages_lose_nothing, capturing_reset),
      cmocka_unit_test_setup(what_a_stage_writes_is_kept_for_later_ones, capturing_reset),
      cmocka_unit_test_setup(faults_lose_nothing_that_was_written, capturing_reset),
      cmocka_unit_test_setup(a_tensor_gets_back_what_it_had, capturing_reset),
      cmocka_unit_test_setup(numbers_of_other_types_are_kept, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
