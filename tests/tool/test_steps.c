/* Steps of the bench: the same on each device, and what is not the same is found. */
#include <math.h>
#include <string.h>

#include "bench/step_check.h"
#include "common/cmocka.h"

static void good(convoy_status status) {
  if (status) fail_msg("%s: %s", convoy_status_name(status), convoy_last_error());
}

static convoy_context *open_cpu(void) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  good(convoy_open(&options, &context));
  return context;
}

static bench_net small_net(const char *name) {
  bench_net net = bench_net_of(name, 2, strcmp(name, "eegnet") ? 32 : 0);
  net.sizes.classes = 3;
  if (net.kind->input[0] == 1) net.sizes.input[1] = 5, net.sizes.input[2] = 70;
  return net;
}

/* Two contexts, one step in each. */
static void equal_steps_are_equal(void **state) {
  (void)state;
  const char *names[] = {"eegnet", "yolov8n"};
  for (int i = 0; i < 2; i++) {
    convoy_context *contexts[] = {open_cpu(), open_cpu()};
    bench_net net = small_net(names[i]);
    bench_step steps[2];
    step_reference wanted;
    step_verdict found;
    for (int k = 0; k < 2; k++) {
      good(bench_step_make(&net, contexts[k], &steps[k]));
      good(bench_step_run(&steps[k]));
    }
    good(step_reference_make(&steps[0], &wanted));
    good(step_compare(&wanted, &steps[1], &found));
    assert_true(found.distance == 0.0 && found.share == 0.0);
    assert_true(steps[0].plan.operations > 0 && steps[0].plan.internal_bytes > 0);
    assert_int_equal(steps[0].feds, i ? 4 : 2);
    step_reference_free(&wanted);
    for (int k = 0; k < 2; k++) {
      bench_step_free(&steps[k]);
      convoy_close(contexts[k]);
    }
    bench_net_free(&net);
  }
}

/* A parameter as it should not be, by its name. */
static void put(const bench_step *step, const char *name, float value) {
  float values[64];
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims;
  convoy_tensor *tensor = net_find(&step->net, name)->value;
  good(convoy_tensor_shape(tensor, shape, &dims));
  for (int i = 0; i < dims; i++) count *= shape[i];
  assert_true(count <= 64);
  good(convoy_tensor_read(tensor, values, count));
  values[count - 1] = value;
  good(convoy_tensor_write(tensor, values, count));
}

static void what_differs_is_named(void **state) {
  (void)state;
  convoy_context *context = open_cpu();
  bench_net net = small_net("eegnet");
  bench_step step;
  step_reference wanted;
  step_verdict found;
  good(bench_step_make(&net, context, &step));
  good(bench_step_run(&step));
  good(step_reference_make(&step, &wanted));
  put(&step, "bnorm_1.weight", 4.0f);
  good(step_compare(&wanted, &step, &found));
  assert_string_equal(found.of, "bnorm_1.weight");
  assert_true(found.distance > 0.5 && found.share > 1.0 && found.bound < 1.0);
  put(&step, "bnorm_2.running_var", NAN);
  good(step_compare(&wanted, &step, &found));
  assert_string_equal(found.of, "bnorm_2.running_var");
  assert_true(isnan(found.distance) && isnan(found.share));
  step_reference_free(&wanted);
  bench_step_free(&step);

  /* Another batch, whose gradients are others. */
  good(bench_step_make(&net, context, &step));
  good(bench_step_run(&step));
  good(step_reference_make(&step, &wanted));
  bench_step_free(&step);
  float *input = net.data[0];
  for (int64_t i = 0; i < net.count[0] / 2; i++) input[i] = -0.5f * input[i];
  good(bench_step_make(&net, context, &step));
  good(bench_step_run(&step));
  good(step_compare(&wanted, &step, &found));
  assert_true(found.share > 1.0);
  step_reference_free(&wanted);
  bench_step_free(&step);
  bench_net_free(&net);
  convoy_close(context);
}

static void names_say_all(void **state) {
  (void)state;
  char text[64];
  bench_net net = bench_net_of("yolov8n", 16, 0);
  bench_net_text(&net, text, sizeof text);
  assert_string_equal(text, "yolov8n b16 3x640x640");
  net = bench_net_of("resnet50", 8, 96);
  bench_net_text(&net, text, sizeof text);
  assert_string_equal(text, "resnet50 b8 3x96x96");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_steps_are_equal),
      cmocka_unit_test(what_differs_is_named),
      cmocka_unit_test(names_say_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
