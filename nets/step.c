#include "step.h"

#include <string.h>

static void resnet18(struct net_capture *c, struct net_value x, int64_t classes,
                     struct net_value *outputs) {
  outputs[0] = net_resnet18(c, x, classes);
}

static void resnet50(struct net_capture *c, struct net_value x, int64_t classes,
                     struct net_value *outputs) {
  outputs[0] = net_resnet50(c, x, classes);
}

static void mobilenet_v2(struct net_capture *c, struct net_value x, int64_t classes,
                         struct net_value *outputs) {
  outputs[0] = net_mobilenet_v2(c, x, classes);
}

static void eegnet(struct net_capture *c, struct net_value x, int64_t classes,
                   struct net_value *outputs) {
  outputs[0] = net_eegnet(c, x, classes);
}

static const struct net_kind kinds[] = {
    {"yolov8n", {3, 640, 640}, 80, 0.0, 5e-4, 3, net_yolov8n},
    {"resnet18", {3, 224, 224}, 1000, 0.0, 1e-4, 1, resnet18},
    {"resnet50", {3, 224, 224}, 1000, 0.0, 1e-4, 1, resnet50},
    {"mobilenet_v2", {3, 224, 224}, 1000, 0.2, 4e-5, 1, mobilenet_v2},
    {"eegnet", {1, 129, 500}, 4, 0.25, 0.0, 1, eegnet},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct net_kind *net_kind_at(int i) {
  return i >= 0 && i < KINDS ? &kinds[i] : NULL;
}

const struct net_kind *net_kind_named(const char *name) {
  for (int i = 0; i < KINDS; i++)
    if (!strcmp(kinds[i].name, name)) return &kinds[i];
  return NULL;
}

/* ------------------------------------------------------------------------------------- the step */

static convoy_status make_inputs(const struct net *net, const struct net_kind *kind,
                                 const struct net_sizes *sizes, bool training,
                                 struct net_step *out) {
  const int64_t shape[] = {sizes->batch, sizes->input[0], sizes->input[1], sizes->input[2]};
  convoy_status status = convoy_tensor_new(net->context, 4, shape, &out->input);
  if (!status && training && kind->outputs == 1)
    status = convoy_tensor_new_typed(net->context, CONVOY_INT32, 1, shape, &out->labels);
  return status;
}

/* The sum of a map times its gradient, which is from outside. */
static struct net_value weigh(struct net_capture *c, struct net_value map, convoy_tensor **given) {
  const int64_t one = 1;
  struct net_value sum = net_temporary(c, 1, &one);
  if (!c->status) c->status = convoy_tensor_new(c->net->context, map.dims, map.shape, given);
  net_apply(c, "s = sum over n c z h w of y * dy",
            (const struct net_value[]){map, net_value_of(c, *given), sum});
  return sum;
}

static struct net_value find_loss(struct net_capture *c, const struct net_kind *kind,
                                  const struct net_value *outputs, struct net_step *out) {
  if (kind->outputs == 1) return net_cross_entropy(c, outputs[0], out->labels);
  struct net_value loss = weigh(c, outputs[0], &out->given[0]);
  for (int i = 1; i < kind->outputs; i++) {
    struct net_value more = weigh(c, outputs[i], &out->given[i]);
    net_apply(c, "add", (const struct net_value[]){loss, more, loss});
  }
  return loss;
}

static void train(struct net_capture *c, const struct net_kind *kind,
                  const struct net_value *outputs, bool keep, struct net_step *out) {
  struct net_value loss = find_loss(c, kind, outputs, out);
  convoy_tensor **gradients = net_gradients(c, loss);
  net_descend(c, gradients, kind->decay);
  out->loss = net_keep(c, loss);
  if (keep)
    out->gradients = gradients;
  else
    net_free_gradients(c->net, gradients);
}

convoy_status net_step_make(struct net *net, const struct net_kind *kind,
                            const struct net_sizes *sizes, bool training, bool keep,
                            struct net_step *out) {
  struct net_capture c;
  struct net_value outputs[NET_OUTPUTS] = {{.dims = 0}};
  *out = (struct net_step){.graph = NULL};
  convoy_status status = make_inputs(net, kind, sizes, training, out);
  if (!status) status = net_begin(&c, net, training);
  if (!status) {
    kind->forward(&c, net_value_of(&c, out->input), sizes->classes, outputs);
    if (training) train(&c, kind, outputs, keep, out);
    for (int i = 0; i < kind->outputs; i++) out->outputs[i] = net_keep(&c, outputs[i]);
    status = net_end(&c, &out->graph);
  }
  if (status) net_step_free(net, out);
  return status;
}

void net_step_free(const struct net *net, struct net_step *step) {
  convoy_graph_free(step->graph);
  convoy_tensor_free(step->input);
  convoy_tensor_free(step->labels);
  convoy_tensor_free(step->loss);
  for (int i = 0; i < NET_OUTPUTS; i++) {
    convoy_tensor_free(step->given[i]);
    convoy_tensor_free(step->outputs[i]);
  }
  net_free_gradients(net, step->gradients);
  *step = (struct net_step){.graph = NULL};
}
