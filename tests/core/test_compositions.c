/* Compositions on a device that fails at any of their operations, called and captured: always the
 * CPU's results, bit for bit. */
#include <string.h>

#include "common/cmocka.h"
#include "core/capturing.h"
#include "core/compositions.h"
#include "core/fake.h"
#include "core/open.h"

typedef float values[SET_VALUES];

static void call(const set *s, const composition *c, bool captured) {
  if (captured) begin(s->context);
  if (c->call(s)) fail_msg("%s: %s", c->name, convoy_last_error());
  if (!captured) return;
  convoy_graph *graph = end(s->context);
  run(graph);
  convoy_graph_free(graph);
}

/* One call on a fresh context of the device. */
static void carry_out(const char *device, const composition *c, bool captured, values out) {
  set s;
  convoy_context *context = open_named(device, CONVOY_ON);
  set_make(context, &s);
  call(&s, c, captured);
  set_read(&s, out);
  set_free(&s);
  convoy_close(context);
}

static void results_survive_faults(void **state) {
  (void)state;
  for (int i = 0; i < COMPOSITIONS; i++) {
    values wanted, got;
    carry_out("cpu", &compositions[i], false, wanted);
    for (int captured = 0; captured < 2; captured++) {
      int64_t commands = 1;
      for (int64_t fail_at = 0; fail_at <= commands; fail_at++) {
        fake_reset();
        fake.fail_at = fail_at;
        carry_out("fake", &compositions[i], captured, got);
        if (memcmp(got, wanted, sizeof got))
          fail_msg("%s, %s: other values with a fault at command %lld", compositions[i].name,
                   captured ? "captured" : "called", (long long)fail_at);
        if (!fail_at) commands = fake_seen.commands;
        assert_int_equal(fake_seen.arrays, 0);
      }
      assert_true(commands > 3);
    }
  }
}

/* What a capture notes of a composition is dropped by its refusal, whatever came first. */
static void refused_ones_note_nothing(void **state) {
  (void)state;
  char texts[2][4000];
  for (int refused = 0; refused < 2; refused++) {
    set s;
    convoy_context *context = open_named("cpu", CONVOY_ON);
    set_make(context, &s);
    convoy_tensor *const *t = s.tensor;
    begin(context);
    assert_int_equal(convoy_softmax(context, 1, t[X], t[Y], NULL), CONVOY_OK);
    if (refused) {
      assert_int_equal(convoy_batch_norm(context, NULL, t[Y], t[GAMMA], t[BETA], t[MEAN],
                                         t[VARIANCE], t[LOSS], NULL),
                       CONVOY_ERR_SHAPE);
      convoy_tensor *const twice[] = {t[W0], t[W0]};
      assert_int_equal(
          convoy_adam(context, NULL, 2, twice, t + G0, t + M0, t + V0, t[RATE], t[STEP], NULL),
          CONVOY_ERR_SHAPE);
      convoy_tensor *const same[] = {t[G0], t[G0]};
      expect_refused(convoy_clip_gradients(context, 1.0, 2, same, t[LOSS], NULL), "same tensor");
    }
    convoy_graph *graph = end(context);
    assert_int_equal(convoy_graph_text(graph, texts[refused], sizeof texts[0]), CONVOY_OK);
    convoy_graph_free(graph);
    set_free(&s);
    convoy_close(context);
  }
  assert_string_equal(texts[0], texts[1]);
}

/* A number that several compositions read is one tensor of a graph. */
static void constants_are_read_once(void **state) {
  (void)state;
  char text[8000];
  set s;
  convoy_context *context = open_named("cpu", CONVOY_ON);
  set_make(context, &s);
  begin(context);
  for (int i = 0; i < 3; i++)
    assert_int_equal(
        convoy_layer_norm(context, 1, 1e-5, s.tensor[X], NULL, NULL, s.tensor[X], NULL), CONVOY_OK);
  convoy_graph *graph = end(context);
  assert_int_equal(convoy_graph_text(graph, text, sizeof text), CONVOY_OK);
  check_says(text, "4 tensors read"); /* x, epsilon, 1 and 0 */
  convoy_graph_free(graph);
  set_free(&s);
  convoy_close(context);
}

/* More numbers than a context keeps: the oldest go, those of graphs stay. */
static void many_constants(void **state) {
  (void)state;
  set s;
  float first[30], last[30];
  convoy_context *context = open_named("cpu", CONVOY_ON);
  set_make(context, &s);
  const convoy_tensor *x = s.tensor[W1];
  convoy_tensor *y = s.tensor[V1];
  begin(context);
  assert_int_equal(convoy_smooth_l1(context, CONVOY_REDUCE_NONE, 0.25, x, s.tensor[G1], y, NULL),
                   CONVOY_OK);
  convoy_graph *graph = end(context);
  run(graph);
  assert_int_equal(convoy_tensor_read(y, first, 7), CONVOY_OK);
  for (int i = 1; i < 200; i++)
    assert_int_equal(convoy_smooth_l1(context, CONVOY_REDUCE_NONE, i, x, s.tensor[G1], y, NULL),
                     CONVOY_OK);
  run(graph);
  assert_int_equal(convoy_tensor_read(y, last, 7), CONVOY_OK);
  assert_memory_equal(first, last, 7 * sizeof(float));
  convoy_graph_free(graph);
  set_free(&s);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(results_survive_faults, capturing_reset),
      cmocka_unit_test_setup(refused_ones_note_nothing, capturing_reset),
      cmocka_unit_test_setup(constants_are_read_once, capturing_reset),
      cmocka_unit_test_setup(many_constants, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
