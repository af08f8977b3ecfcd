/* Each network by its usual definition on small images: a step is captured, its loss falls, and an
 * evaluation takes the same parameters. */
#include <math.h>
#include <stdlib.h>

#include "common/cmocka.h"
#include "nets/step.h"
#include "tensors.h"

enum { STEPS = 3, MOST = 8192 };

static float loss_of(const struct net_step *step) {
  float loss = NAN;
  good(convoy_graph_run(step->graph, NULL));
  good(convoy_tensor_read(step->loss, &loss, 1));
  assert_true(isfinite(loss));
  return loss;
}

/* At which a step should take a hundredth off the loss, by the gradients of a run. */
static float find_rate(const struct net *net, const struct net_step *step) {
  const int64_t one = 1;
  convoy_tensor *norm;
  float length, loss;
  int count = 0;
  for (int i = 0; i < net->count; i++) count += net->parameters[i].trained;
  good(convoy_tensor_new(net->context, 1, &one, &norm));
  good(convoy_gradient_norm(net->context, count, step->gradients, norm, NULL));
  good(convoy_tensor_read(norm, &length, 1));
  good(convoy_tensor_read(step->loss, &loss, 1));
  convoy_tensor_free(norm);
  return 0.01f * fabsf(loss) / (length * length);
}

static void train(struct net *net, const struct net_kind *kind, const struct net_sizes *sizes) {
  const int32_t labels[] = {1, 0, 2, 1};
  struct net_step step;
  good(net_step_make(net, kind, sizes, true, true, &step));
  fill(step.input, 1.0f);
  for (int i = 0; i < NET_OUTPUTS; i++)
    if (step.given[i]) fill(step.given[i], 1.0f);
  if (step.labels) good(convoy_tensor_write(step.labels, labels, sizes->batch));
  float first = loss_of(&step), last = first, rate = find_rate(net, &step);
  good(convoy_tensor_write(net->rate, &rate, 1)); /* it was 0 */
  for (int i = 1; i < STEPS; i++) last = loss_of(&step);
  if (!(last < first)) fail_msg("%s: loss %g, then %g", kind->name, (double)first, (double)last);
  net_step_free(net, &step);
}

static void evaluate(struct net *net, const struct net_kind *kind, const struct net_sizes *sizes) {
  static float values[MOST];
  struct net_step step;
  int parameters = net->count;
  good(net_step_make(net, kind, sizes, false, false, &step));
  assert_int_equal(net->count, parameters);
  fill(step.input, 1.0f);
  good(convoy_graph_run(step.graph, NULL));
  for (int i = 0; i < kind->outputs; i++) {
    int64_t count = count_of(step.outputs[i]);
    assert_true(count > 0 && count <= MOST);
    good(convoy_tensor_read(step.outputs[i], values, count));
    for (int64_t k = 0; k < count; k++) assert_true(isfinite(values[k]));
  }
  net_step_free(net, &step);
}

static void networks_learn(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  good(convoy_open(&options, &context));
  for (int i = 0; net_kind_at(i); i++) {
    const struct net_kind *kind = net_kind_at(i);
    struct net_sizes sizes = {4, 3, {kind->input[0], 32, 32}};
    struct net net;
    if (kind->input[0] == 1) sizes.input[1] = 5, sizes.input[2] = 70;
    good(net_open(&net, context, 7));
    train(&net, kind, &sizes);
    evaluate(&net, kind, &sizes);
    net_close(&net);
  }
  convoy_close(context);
}

static void what_is_wrong_is_returned(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  const struct net_sizes small = {1, 3, {3, 0, 32}};
  convoy_context *context;
  struct net net;
  struct net_step step;
  options.device = "cpu";
  good(convoy_open(&options, &context));
  good(net_open(&net, context, 7));
  assert_int_equal(net_step_make(&net, net_kind_named("resnet18"), &small, true, false, &step),
                   CONVOY_ERR_SHAPE);
  assert_null(step.graph);
  assert_null(net_kind_named("resnet"));
  net_close(&net);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks_learn),
                                     cmocka_unit_test(what_is_wrong_is_returned)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
