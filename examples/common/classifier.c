#include "common/classifier.h"

static const int64_t one = 1;

convoy_status classifier_open(struct classifier *classifier, convoy_context *context,
                              uint64_t seed) {
  convoy_status status = net_open(&classifier->net, context, seed);
  if (!status) status = convoy_tensor_new(context, 1, &one, &classifier->loss);
  if (!status) status = convoy_tensor_new(context, 1, &one, &classifier->correct);
  if (!status) status = convoy_tensor_write(classifier->loss, &(float){-1.0f}, 1);
  return status;
}

void classifier_close(struct classifier *classifier) {
  convoy_tensor_free(classifier->loss);
  convoy_tensor_free(classifier->correct);
  net_close(&classifier->net);
}

/* ------------------------------------------------------------------------------------- graphs */

static void train(struct classifier *classifier, struct net_capture *c, struct net_value logits,
                  convoy_tensor *labels) {
  struct net_value loss = net_cross_entropy(c, logits, labels);
  convoy_tensor **gradients = net_gradients(c, loss);
  net_descend(c, gradients, classifier->decay);
  net_free_gradients(&classifier->net, gradients);
  struct net_value mean = net_value_of(c, classifier->loss);
  net_apply(c, "input mean, loss; mean = mean < 0 ? loss : 0.98 * mean + 0.02 * loss",
            (const struct net_value[]){mean, loss, mean});
}

/* An answer is correct if no class has a larger logit than the label's. */
static void evaluate(struct classifier *classifier, struct net_capture *c, struct net_value logits,
                     convoy_tensor *labels) {
  const int64_t per_image[] = {logits.shape[0], 1};
  struct net_value own = net_temporary(c, 2, per_image), top = net_temporary(c, 2, per_image);
  struct net_value found = net_temporary(c, 1, &one);
  struct net_value correct = net_value_of(c, classifier->correct);
  net_apply(c,
            "input logits, label; top = maximum over c of logits;"
            "own = sum over c of index(c) == label ? logits : 0",
            (const struct net_value[]){logits, net_value_of(c, labels), top, own});
  net_apply(c, "found = sum over n of own == top", (const struct net_value[]){own, top, found});
  net_apply(c, "add", (const struct net_value[]){correct, found, correct});
}

convoy_status batch_graph_open(const struct classifier *classifier, int64_t images,
                               struct batch_graph *out) {
  const int64_t *image = classifier->image;
  const int64_t shape[] = {images, image[0], image[1], image[2]}, per_image[] = {images, 1};
  convoy_context *context = classifier->net.context;
  *out = (struct batch_graph){.images = images};
  convoy_status status = convoy_tensor_new_typed(context, CONVOY_UINT8, 4, shape, &out->pixels);
  if (status) return status;
  return convoy_tensor_new_typed(context, CONVOY_INT32, 2, per_image, &out->labels);
}

convoy_status classifier_capture(struct classifier *classifier, bool training, int64_t images,
                                 struct batch_graph *out) {
  struct net_capture c;
  convoy_status status = batch_graph_open(classifier, images, out);
  if (!status) status = net_begin(&c, &classifier->net, training);
  if (status) return status;
  struct net_value pixels = net_value_of(&c, out->pixels);
  struct net_value logits = classifier->forward(&c, pixels, classifier);
  (training ? train : evaluate)(classifier, &c, logits, out->labels);
  return net_end(&c, &out->graph);
}

void batch_graph_free(struct batch_graph *graph) {
  convoy_graph_free(graph->graph);
  convoy_tensor_free(graph->pixels);
  convoy_tensor_free(graph->labels);
  *graph = (struct batch_graph){.graph = NULL};
}

convoy_status batch_graph_run(const struct batch_graph *graph, const uint8_t *pixels,
                              const int32_t *labels) {
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims;
  convoy_status status = convoy_tensor_shape(graph->pixels, shape, &dims);
  for (int32_t i = 0; i < dims && !status; i++) count *= shape[i];
  if (!status) status = convoy_tensor_write(graph->pixels, pixels, count);
  if (!status) status = convoy_tensor_write(graph->labels, labels, graph->images);
  return status ? status : convoy_graph_run(graph->graph, NULL);
}
