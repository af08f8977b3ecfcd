/* What tensors stand for while operations are captured. */
#include "core/graph/capture.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------- tensors */

static convoy_status grow(void **list, int32_t count, int32_t more, int32_t *room, size_t size) {
  if (more <= *room - count) return CONVOY_OK;
  int32_t wanted = 2 * (count + more);
  void *grown = realloc(*list, (size_t)wanted * size);
  if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a capture");
  *list = grown;
  *room = wanted;
  return CONVOY_OK;
}

convoy_status cvy_capture_reserve(cvy_capture *capture, int32_t tensors) {
  void *tensor = capture->tensor, *stand = capture->stand;
  convoy_status status =
      grow(&tensor, capture->tensors, tensors, &capture->room, sizeof *capture->tensor);
  capture->tensor = tensor;
  if (!status)
    status = grow(&stand, capture->stands, tensors, &capture->stand_room, sizeof *capture->stand);
  capture->stand = stand;
  return status;
}

static void note_stand(cvy_capture *capture, cvy_stand stand) {
  capture->stand[capture->stands++] = stand;
}

static void stand_for(cvy_capture *capture, convoy_tensor *tensor, int32_t value) {
  const cvy_nodes *list = &capture->graph->list;
  if (!tensor->captured) {
    tensor->captured = true;
    tensor->references++;
    capture->tensor[capture->tensors++] = tensor;
  }
  note_stand(capture, (cvy_stand){tensor, value, list->nodes, false});
  tensor->value = 1 + value;
  tensor->stage = list->stage;
}

void cvy_capture_set(cvy_capture *capture, convoy_tensor *tensor, int32_t value) {
  stand_for(capture, tensor, value);
  tensor->written = true;
}

/* Whether it stands for what it had when an earlier stage began. */
static bool is_of_earlier_stage(const cvy_nodes *list, const convoy_tensor *tensor) {
  return !tensor->written && list->value[tensor->value - 1].stage < list->stage;
}

convoy_status cvy_capture_value(cvy_capture *capture, convoy_tensor *tensor, int32_t *value) {
  cvy_nodes *list = &capture->graph->list;
  if (!tensor->value || is_of_earlier_stage(list, tensor)) {
    convoy_status status = cvy_nodes_reserve(list, 0, 1);
    if (!status) status = cvy_capture_reserve(capture, 1);
    if (status) return status;
    int32_t added = cvy_nodes_add_input(list, tensor);
    if (tensor->value) list->value[added].origin = list->value[tensor->value - 1].origin;
    stand_for(capture, tensor, added);
  }
  *value = tensor->value - 1;
  return CONVOY_OK;
}

convoy_status cvy_capture_copy(cvy_capture *capture, convoy_tensor *from, convoy_tensor *to) {
  int32_t value;
  convoy_status status = cvy_capture_value(capture, from, &value);
  if (!status) status = cvy_capture_reserve(capture, 2);
  if (status) return status;
  note_stand(capture, (cvy_stand){from, value, capture->graph->list.nodes, true});
  cvy_capture_set(capture, to, value);
  return CONVOY_OK;
}

void cvy_capture_hand_over(cvy_capture *capture, const convoy_tensor *from, convoy_tensor *to) {
  cvy_capture_set(capture, to, from->value - 1);
  capture->stand[capture->stands - 1].shared = true;
}

/* A tensor that was read first in what is taken back stands for what it did before. */
void cvy_capture_shorten(cvy_capture *capture, int32_t nodes, int32_t values) {
  cvy_nodes *list = &capture->graph->list;
  for (int32_t i = 0; i < capture->tensors; i++) {
    convoy_tensor *tensor = capture->tensor[i];
    if (tensor->value <= values) continue;
    int32_t origin = list->value[tensor->value - 1].origin;
    tensor->value = origin < values ? 1 + origin : 0;
  }
  while (capture->stands > 0 && capture->stand[capture->stands - 1].value >= values)
    capture->stands--;
  cvy_nodes_shorten(list, nodes, values);
}

void cvy_capture_detach(cvy_capture *capture, const convoy_tensor *tensor) {
  capture->graph->list.value[tensor->value - 1].detached = true;
}

void cvy_capture_written(convoy_tensor *tensor) {
  tensor->value = 0;
  tensor->written = false;
}

void cvy_capture_freed(convoy_tensor *tensor) {
  tensor->freed = true;
}

/* ---------------------------------------------------------------------------- begin and end */

convoy_status cvy_capture_check(const convoy_context *context, const char *what) {
  if (!context->capture) return cvy_fail(CONVOY_ERR_ARGUMENT, "%s: no capture is open", what);
  if (pthread_equal(context->capture->thread, pthread_self())) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%s: the capture that is open is another thread's", what);
}

convoy_status cvy_capture_refuses(const convoy_context *context, const char *what) {
  if (!context->capture) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "%s while a capture is open: nothing is computed until its graph runs", what);
}

convoy_status cvy_capture_begin(convoy_context *context) {
  convoy_status status = cvy_capture_refuses(context, "convoy_capture_begin");
  if (status) return status;
  cvy_capture *capture = calloc(1, sizeof *capture);
  if (!capture) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a capture");
  capture->graph = cvy_graph_new(context);
  if (!capture->graph) {
    free(capture);
    return CONVOY_ERR_MEMORY;
  }
  capture->thread = pthread_self();
  context->capture = capture;
  return CONVOY_OK;
}

/* Tensors stand for nothing any more. */
static void close_capture(convoy_context *context) {
  cvy_capture *capture = context->capture;
  context->capture = NULL;
  for (int32_t i = 0; i < capture->tensors; i++) {
    capture->tensor[i]->value = 0;
    capture->tensor[i]->captured = capture->tensor[i]->written = false;
    cvy_tensor_drop(capture->tensor[i]);
  }
  free(capture->tensor);
  free(capture->stand);
  free(capture);
}

void cvy_capture_abandon(convoy_context *context) {
  if (!context->capture) return;
  convoy_graph *graph = context->capture->graph;
  close_capture(context);
  cvy_graph_drop(graph);
}

/* Tensors that the user has get what they stand for. */
static convoy_status find_outputs(const cvy_capture *capture) {
  convoy_graph *graph = capture->graph;
  if (!capture->tensors) return CONVOY_OK;
  graph->output = malloc((size_t)capture->tensors * sizeof *graph->output);
  if (!graph->output) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph");
  for (int32_t i = 0; i < capture->tensors; i++) {
    convoy_tensor *tensor = capture->tensor[i];
    if (tensor->freed || !tensor->written) continue;
    tensor->references++;
    graph->output[graph->outputs++] =
        (cvy_graph_output){tensor, tensor->value - 1, tensor->stage, false};
  }
  return CONVOY_OK;
}

convoy_status cvy_capture_end(convoy_context *context, convoy_graph **out) {
  const cvy_capture *capture = context->capture;
  convoy_status status = cvy_capture_check(context, "convoy_capture_end");
  if (status) return status;
  status = out ? find_outputs(capture) : CONVOY_OK;
  if (status || !out) {
    cvy_capture_abandon(context);
    return status;
  }
  *out = capture->graph;
  cvy_graph_finish(*out);
  close_capture(context);
  return CONVOY_OK;
}

convoy_status cvy_capture_cut(convoy_context *context) {
  enum { MOST_STAGES = 64 };
  convoy_status status = cvy_capture_check(context, "convoy_capture_cut");
  if (status) return status;
  convoy_graph *graph = context->capture->graph;
  if (graph->stages == MOST_STAGES)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "a graph has %d stages at most", (int)MOST_STAGES);
  graph->list.stage = graph->stages++;
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------------- noting */

static convoy_status check_note(const convoy_context *context, const convoy_run *run) {
  convoy_status status = cvy_capture_check(context, "an operation");
  if (status || !run) return status;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "run is not NULL while a capture is open: there is no run to tell of");
}

convoy_status cvy_capture_note(convoy_context *context, const cvy_problem *problem,
                               const convoy_tensor *const in[], convoy_tensor *const out[],
                               const convoy_run *run) {
  cvy_capture *capture = context->capture;
  int32_t inputs = cvy_problem_inputs(problem), outputs = cvy_problem_outputs(problem);
  int32_t read[CVY_MOST_READ];
  convoy_status status = check_note(context, run);
  if (!status) status = cvy_capture_reserve(capture, inputs + 1 + outputs);
  for (int32_t i = 0; i < cvy_problem_reads(problem) && !status; i++) {
    const convoy_tensor *tensor = i < inputs ? in[i] : out[0];
    status = cvy_capture_value(capture, (convoy_tensor *)(uintptr_t)tensor, &read[i]);
  }
  const cvy_graph_node *node = status ? NULL : cvy_nodes_add(&capture->graph->list, problem, read);
  if (!node) return status ? status : CONVOY_ERR_MEMORY;
  for (int32_t i = 0; i < outputs; i++) cvy_capture_set(capture, out[i], node->out[i]);
  return CONVOY_OK;
}
