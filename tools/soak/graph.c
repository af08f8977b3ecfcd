/* Carries out the same operations, and the same captured step, on two contexts. */
#include "soak/graph.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"

enum { RUNS = 3 }; /* of the captured step in each step of the soak */

static const struct {
  int dims;
  int64_t shape[3];
} specs[GRAPH_VALUES] = {
    [GRAPH_X] = {3, {2, 3, 64}},
    [GRAPH_TARGET] = {3, {2, 4, 3}},
    [GRAPH_FILTERS] = {3, {4, 3, 5}},
    [GRAPH_WEIGHTS] = {2, {16, 3}},
    [GRAPH_FILTERS_V] = {3, {4, 3, 5}},
    [GRAPH_WEIGHTS_V] = {2, {16, 3}},
    [GRAPH_MAPS] = {3, {2, 4, 64}},
    [GRAPH_MAXIMA] = {3, {2, 4, 32}},
    [GRAPH_MEANS] = {3, {2, 4, 16}},
    [GRAPH_PRODUCT] = {3, {2, 4, 3}},
    [GRAPH_LOSS] = {1, {1}},
    [GRAPH_DX] = {3, {2, 3, 64}},
    [GRAPH_DFILTERS] = {3, {4, 3, 5}},
    [GRAPH_DWEIGHTS] = {2, {16, 3}},
};

static const char loss[] = "loss = sum over n c w of (y - target) * (y - target)";
/* The momentum's sign moves a weight by 1, between -1 and 1. */
static const char optimizer[] =
    "v = 0.9 * v + g; w = min(max(w + (v > 0 ? -1 : v < 0 ? 1 : 0), -1), 1)";

/* ------------------------------------------------------------------------------------- making */

/* Whole numbers from -most to most. */
static void fill_whole(soak_graph *graph, int which, uint64_t key, float most) {
  for (int64_t i = 0; i < graph->count[which]; i++)
    graph->host[which][i] = roundf((most + 0.49f) * soak_number(key, (uint64_t)i));
}

static convoy_status give(soak_graph *graph, int which) {
  double start = seconds_now();
  convoy_status status = soak_timed(
      graph->net, start,
      convoy_tensor_write(graph->device.tensor[which], graph->host[which], graph->count[which]));
  if (status) return status;
  return convoy_tensor_write(graph->cpu.tensor[which], graph->host[which], graph->count[which]);
}

static bool make_tensors(soak_graph *graph, int which) {
  const int64_t *shape = specs[which].shape;
  int dims = specs[which].dims;
  graph->count[which] = 1;
  for (int d = 0; d < dims; d++) graph->count[which] *= shape[d];
  size_t count = (size_t)graph->count[which];
  graph->host[which] = calloc(count, sizeof(float));
  graph->exact[which] = calloc(count, sizeof(float));
  return graph->host[which] && graph->exact[which] &&
         convoy_tensor_new(graph->device.context, dims, shape, &graph->device.tensor[which]) ==
             CONVOY_OK &&
         convoy_tensor_new(graph->cpu.context, dims, shape, &graph->cpu.tensor[which]) == CONVOY_OK;
}

static convoy_status apply(const soak_side *side, const char *text, const int *which) {
  const convoy_tensor *in[4];
  convoy_tensor *out[4];
  convoy_program *program;
  int inputs = 0, results = 0;
  convoy_status status = convoy_program_parse(text, &program);
  if (status) return status;
  for (; convoy_program_input(program, inputs); inputs++) in[inputs] = side->tensor[which[inputs]];
  for (; convoy_program_result(program, results); results++)
    out[results] = side->tensor[which[inputs + results]];
  status = convoy_apply(side->context, program, in, out, NULL);
  convoy_program_free(program);
  return status;
}

static convoy_status forward(const soak_side *side) {
  static const int of_loss[] = {GRAPH_PRODUCT, GRAPH_TARGET, GRAPH_LOSS};
  convoy_tensor *const *t = side->tensor;
  convoy_conv conv = CONVOY_CONV_INIT(1);
  convoy_window maxima = CONVOY_WINDOW_INIT(1), means = CONVOY_WINDOW_INIT(1);
  conv.pad_begin[0] = conv.pad_end[0] = 2;
  maxima.extent[0] = 3; /* they overlap: a gradient is a sum */
  maxima.pad_begin[0] = maxima.pad_end[0] = 1;
  means.extent[0] = maxima.stride[0] = means.stride[0] = 2;
  convoy_status status = convoy_forward(side->context, &conv, t[GRAPH_X], t[GRAPH_FILTERS], NULL,
                                        NULL, t[GRAPH_MAPS], NULL);
  if (!status)
    status = convoy_max_pool(side->context, &maxima, t[GRAPH_MAPS], t[GRAPH_MAXIMA], NULL);
  if (!status)
    status = convoy_average_pool(side->context, &means, t[GRAPH_MAXIMA], t[GRAPH_MEANS], NULL);
  if (!status) {
    status =
        convoy_matmul(side->context, 0, t[GRAPH_MEANS], t[GRAPH_WEIGHTS], t[GRAPH_PRODUCT], NULL);
  }
  return status ? status : apply(side, loss, of_loss);
}

static convoy_status note_step(const soak_side *side) {
  static const int filters[] = {GRAPH_FILTERS_V, GRAPH_DFILTERS, GRAPH_FILTERS, GRAPH_FILTERS_V,
                                GRAPH_FILTERS};
  static const int weights[] = {GRAPH_WEIGHTS_V, GRAPH_DWEIGHTS, GRAPH_WEIGHTS, GRAPH_WEIGHTS_V,
                                GRAPH_WEIGHTS};
  convoy_tensor *const *t = side->tensor;
  convoy_tensor *const of[] = {t[GRAPH_X], t[GRAPH_FILTERS], t[GRAPH_WEIGHTS]};
  convoy_status status = forward(side);
  if (!status) status = convoy_gradients(side->context, t[GRAPH_LOSS], NULL, 3, of, &t[GRAPH_DX]);
  if (!status) status = apply(side, optimizer, filters);
  return status ? status : apply(side, optimizer, weights);
}

static bool capture(soak_side *side) {
  if (convoy_capture_begin(side->context) != CONVOY_OK) return false;
  bool noted = note_step(side) == CONVOY_OK;
  return convoy_capture_end(side->context, noted ? &side->step : NULL) == CONVOY_OK && noted;
}

bool soak_graph_make(soak_graph *graph, soak_net *net, bool used) {
  *graph = (soak_graph){.net = net, .used = used, .device = {net->device}, .cpu = {net->cpu}};
  if (!used) return true;
  for (int i = 0; i < GRAPH_VALUES; i++)
    if (!make_tensors(graph, i)) return false;
  for (int i = GRAPH_FILTERS; i <= GRAPH_WEIGHTS_V; i++) {
    if (i <= GRAPH_WEIGHTS) fill_whole(graph, i, net->seed + (uint64_t)i, 1.0f);
    if (give(graph, i) != CONVOY_OK) return false;
  }
  return capture(&graph->device) && capture(&graph->cpu);
}

static void free_side(soak_side *side) {
  convoy_graph_free(side->step);
  for (int i = 0; i < GRAPH_VALUES; i++) convoy_tensor_free(side->tensor[i]);
}

void soak_graph_free(soak_graph *graph) {
  free_side(&graph->device);
  free_side(&graph->cpu);
  for (int i = 0; i < GRAPH_VALUES; i++) {
    free(graph->host[i]);
    free(graph->exact[i]);
  }
}

/* --------------------------------------------------------------------------------- carrying out */

/* Reads what the device and the CPU have, and counts where they are not the same number. */
static convoy_status compare(soak_graph *graph, int which, int64_t *wrong) {
  float *got = graph->host[which], *exact = graph->exact[which];
  int64_t count = graph->count[which];
  double start = seconds_now();
  convoy_status status =
      soak_timed(graph->net, start, convoy_tensor_read(graph->device.tensor[which], got, count));
  if (!status) status = convoy_tensor_read(graph->cpu.tensor[which], exact, count);
  for (int64_t i = 0; i < count && !status; i++) *wrong += !(got[i] == exact[i]);
  return status;
}

static convoy_status compare_all(soak_graph *graph, int first, int last, int64_t *wrong) {
  convoy_status status = CONVOY_OK;
  for (int i = first; i <= last && !status; i++) status = compare(graph, i, wrong);
  return status;
}

static convoy_status run_captured(soak_graph *graph) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < RUNS && !status; i++) {
    double start = seconds_now();
    status = soak_timed(graph->net, start, convoy_graph_run(graph->device.step, NULL));
    if (!status) status = convoy_graph_run(graph->cpu.step, NULL);
  }
  return status;
}

convoy_status soak_graph_step(soak_graph *graph, uint64_t step, int64_t *wrong) {
  convoy_status status = CONVOY_OK;
  if (!graph->used) return CONVOY_OK;
  for (int i = GRAPH_X; i <= GRAPH_TARGET && !status; i++) {
    fill_whole(graph, i, ~graph->net->seed * 31 + step * GRAPH_VALUES + (uint64_t)i, 2.0f);
    status = give(graph, i);
  }
  double start = seconds_now();
  if (!status) status = soak_timed(graph->net, start, forward(&graph->device));
  if (!status) status = forward(&graph->cpu);
  if (!status) status = compare_all(graph, GRAPH_MAPS, GRAPH_LOSS, wrong);
  if (!status) status = run_captured(graph);
  return status ? status : compare_all(graph, GRAPH_FILTERS, GRAPH_DWEIGHTS, wrong);
}
