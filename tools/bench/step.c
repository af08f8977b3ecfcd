#include "bench/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

static const float rate = 1e-3f;

/* ----------------------------------------------------------------------------------- its network
 */

bench_net bench_net_of(const char *name, int64_t batch, int64_t extent) {
  bench_net net = {.kind = net_kind_named(name)};
  net.sizes = (struct net_sizes){.batch = batch, .classes = net.kind->classes};
  memcpy(net.sizes.input, net.kind->input, sizeof net.sizes.input);
  if (extent) net.sizes.input[1] = net.sizes.input[2] = extent;
  return net;
}

void bench_net_free(bench_net *net) {
  for (int i = 0; i < BENCH_FED; i++) free(net->data[i]);
  *net = (bench_net){.kind = NULL};
}

void bench_net_text(const bench_net *net, char *text, size_t size) {
  const struct net_sizes *sizes = &net->sizes;
  snprintf(text, size, "%s b%lld %lldx%lldx%lld", net->kind->name, (long long)sizes->batch,
           (long long)sizes->input[0], (long long)sizes->input[1], (long long)sizes->input[2]);
}

/* -------------------------------------------------------------------------------------- its data
 */

static void fill_numbers(float *values, int64_t count, float most) {
  uint32_t random = 12345;
  for (int64_t i = 0; i < count; i++) {
    random = random * 1664525u + 1013904223u;
    values[i] = ((float)(random >> 8) / (1 << 23) - 1.0f) * most;
  }
}

static void fill_labels(int32_t *labels, int64_t count, int64_t classes) {
  for (int64_t i = 0; i < count; i++) labels[i] = (int32_t)(i * 7919 % classes);
}

/* Gradients of maps are such that those of the last layers' parameters are about 1. */
static convoy_status make_data(bench_net *net, const bench_step *step) {
  bool has_labels = step->step.labels != NULL;
  for (int i = 0; i < step->feds; i++) {
    int64_t shape[CONVOY_MAX_DIMS], count = 1;
    int32_t dims;
    convoy_status status = convoy_tensor_shape(step->fed[i], shape, &dims);
    if (status) return status;
    for (int32_t d = 0; d < dims; d++) count *= shape[d];
    net->count[i] = count;
    net->data[i] = malloc((size_t)count * sizeof(float) + 1);
    if (!net->data[i]) return CONVOY_ERR_MEMORY;
    if (i && has_labels)
      fill_labels(net->data[i], count, net->sizes.classes);
    else
      fill_numbers(net->data[i], count, i ? 1.0f / sqrtf((float)count) : 1.0f);
  }
  return CONVOY_OK;
}

/* --------------------------------------------------------------------------------------- the step
 */

static void find_fed(bench_step *step) {
  const struct net_step *of = &step->step;
  step->feds = 0;
  step->fed[step->feds++] = of->input;
  if (of->labels) step->fed[step->feds++] = of->labels;
  for (int i = 0; i < NET_OUTPUTS; i++)
    if (of->given[i]) step->fed[step->feds++] = of->given[i];
}

/* An evaluation makes the parameters, so that making them is no part of the capture. */
static convoy_status make_parameters(const bench_net *net, bench_step *out) {
  struct net_step evaluation;
  convoy_status status =
      net_step_make(&out->net, net->kind, &net->sizes, false, false, &evaluation);
  if (!status) net_step_free(&out->net, &evaluation);
  return status ? status : convoy_tensor_write(out->net.rate, &rate, 1);
}

static convoy_status capture(const bench_net *net, bench_step *out) {
  double start = seconds_now();
  convoy_status status = net_step_make(&out->net, net->kind, &net->sizes, true, false, &out->step);
  out->plan = (convoy_graph_plan){.struct_size = sizeof out->plan};
  if (!status) status = convoy_plan_graph(out->step.graph, &out->plan);
  out->capture_seconds = seconds_now() - start;
  return status;
}

convoy_status bench_step_make(bench_net *net, convoy_context *context, bench_step *out) {
  *out = (bench_step){.feds = 0};
  convoy_status status = net_open(&out->net, context, 1);
  out->net.dropout = net->kind->dropout;
  if (!status) status = make_parameters(net, out);
  if (!status) status = capture(net, out);
  if (!status) find_fed(out);
  if (!status && !net->data[0]) status = make_data(net, out);
  if (!status) status = bench_step_feed(net, out);
  if (status) bench_step_free(out);
  return status;
}

void bench_step_free(bench_step *step) {
  net_step_free(&step->net, &step->step);
  net_close(&step->net);
}

/* convoy_tensors_write would find that they are the same as before, and leave them where they are.
 */
convoy_status bench_step_feed(const bench_net *net, const bench_step *step) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < step->feds && !status; i++)
    status = convoy_tensor_write(step->fed[i], net->data[i], net->count[i]);
  return status;
}

convoy_status bench_step_run(const bench_step *step) {
  return convoy_graph_run(step->step.graph, NULL);
}
