/* From one plan to a graph for each of its stages. */
#include "core/graph/stages.h"

#include <stdlib.h>

#include "core/graph/plan.h"

/* --------------------------------------------------------------------------------------- cutting
 */

/* The stage that makes a value, or reads its tensor first, and the last that wants it; NONE. */
enum { NONE = -1 };
typedef struct span_of_value {
  int32_t made, read;
} span_of_value;

static void stretch(span_of_value *span, int32_t stage) {
  if (span->read < stage) span->read = stage;
}

static void find_reads(const convoy_graph *graph, const cvy_plan *plan, span_of_value *spans) {
  const cvy_nodes *list = &plan->list;
  for (int32_t n = 0; n < list->nodes; n++) {
    const cvy_graph_node *node = &list->node[n];
    for (int32_t i = 0; i < node->outputs; i++) spans[node->out[i]].made = node->stage;
    for (int32_t i = 0; i < node->inputs; i++) stretch(&spans[node->in[i]], node->stage);
  }
  for (int32_t i = 0; i < graph->outputs; i++)
    stretch(&spans[plan->result[i]], graph->output[i].stage);
}

/* Foreign memory is read where it is, and not copied, unless a stage writes it before the
 * last that reads it. */
static bool is_read_in_place(const convoy_graph *graph, const convoy_tensor *tensor,
                             int32_t last_read) {
  if (!tensor->store->foreign) return false;
  for (int32_t i = 0; i < graph->outputs; i++)
    if (graph->output[i].tensor == tensor) return graph->output[i].stage >= last_read;
  return true;
}

static span_of_value *find_spans(const convoy_graph *graph, const cvy_plan *plan) {
  const cvy_nodes *list = &plan->list;
  span_of_value *spans = malloc(((size_t)list->values + 1) * sizeof *spans);
  if (!spans) {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph's stages");
    return NULL;
  }
  for (int32_t v = 0; v < list->values; v++)
    spans[v] = (span_of_value){list->value[v].tensor ? list->value[v].stage : NONE, NONE};
  find_reads(graph, plan, spans);
  for (int32_t v = 0; v < list->values; v++) {
    const convoy_tensor *tensor = list->value[v].tensor;
    if (tensor && is_read_in_place(graph, tensor, spans[v].read)) spans[v].made = NONE;
  }
  return spans;
}

static bool is_between(span_of_value span) {
  return span.made != NONE && span.read > span.made;
}

/* Of the type that the tensor has whose value it is. */
static convoy_status make_tensor(convoy_graph *graph, const cvy_graph_value *value,
                                 convoy_tensor **out) {
  const convoy_tensor *like = value->tensor;
  int64_t count = value->bytes / (int64_t)sizeof(float);
  convoy_status status = like ? cvy_tensor_new(graph->context, like->dtype, 1, &like->count, out)
                              : cvy_tensor_new(graph->context, CONVOY_FLOAT32, 1, &count, out);
  if (!status) graph->between[graph->tensors_between++] = *out;
  return status;
}

static convoy_status make_tensors(convoy_graph *graph, const cvy_plan *plan,
                                  const span_of_value *spans, convoy_tensor **of) {
  convoy_status status = CONVOY_OK;
  for (int32_t v = 0; v < plan->list.values && !status; v++)
    if (is_between(spans[v])) status = make_tensor(graph, &plan->list.value[v], &of[v]);
  return status;
}

/* --------------------------------------------------------------------------------------- a stage
 */

/* Values keep their numbers. What an earlier stage has made or read is what the tensor between has.
 */
static convoy_status copy_list(const cvy_plan *plan, int32_t stage, const span_of_value *spans,
                               convoy_tensor *const *between, cvy_nodes *out) {
  convoy_status status = cvy_nodes_copy(&plan->list, out);
  if (status) return status;
  out->borrows = false;
  int32_t kept = 0;
  for (int32_t n = 0; n < out->nodes; n++) {
    if (out->node[n].stage == stage)
      out->node[kept++] = out->node[n];
    else
      cvy_nodes_free_node(&out->node[n]);
  }
  out->nodes = kept;
  for (int32_t v = 0; v < out->values; v++) {
    cvy_graph_value *value = &out->value[v];
    bool is_earlier = is_between(spans[v]) && spans[v].made < stage;
    if (is_earlier) value->tensor = between[v];
    value->kept = false;
    if (value->tensor) value->tensor->references++;
  }
  return CONVOY_OK;
}

static void add_output(convoy_graph *stage, convoy_tensor *tensor, int32_t value) {
  tensor->references++;
  stage->output[stage->outputs++] = (cvy_graph_output){tensor, value, 0, false};
}

static convoy_status add_outputs(const convoy_graph *graph, const cvy_plan *plan, int32_t number,
                                 const span_of_value *spans, convoy_tensor *const *between,
                                 convoy_graph *stage) {
  size_t most = (size_t)graph->outputs + (size_t)graph->tensors_between + 1;
  stage->output = malloc(most * sizeof *stage->output);
  if (!stage->output) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph's stages");
  for (int32_t i = 0; i < graph->outputs; i++)
    if (graph->output[i].stage == number)
      add_output(stage, graph->output[i].tensor, plan->result[i]);
  for (int32_t v = 0; v < plan->list.values; v++)
    if (between[v] && spans[v].made == number) add_output(stage, between[v], v);
  return CONVOY_OK;
}

/* As the whole graph's. */
static void find_carried(const convoy_graph *graph, const convoy_graph *stage) {
  for (int32_t i = 0; i < graph->outputs; i++)
    graph->output[i].tensor->marked = graph->output[i].carried;
  for (int32_t i = 0; i < stage->outputs; i++)
    stage->output[i].carried = stage->output[i].tensor->marked;
  for (int32_t i = 0; i < graph->outputs; i++) graph->output[i].tensor->marked = false;
}

static convoy_status make_stage(const convoy_graph *graph, const cvy_plan *plan, int32_t number,
                                const span_of_value *spans, convoy_tensor *const *between,
                                convoy_graph **out) {
  convoy_graph *stage = *out = cvy_graph_new(graph->context);
  if (!stage) return CONVOY_ERR_MEMORY;
  stage->is_stage = true;
  stage->foreign = graph->foreign;
  convoy_status status = copy_list(plan, number, spans, between, &stage->list);
  if (!status) status = add_outputs(graph, plan, number, spans, between, stage);
  if (status) return status;
  cvy_graph_finish(stage);
  find_carried(graph, stage);
  return CONVOY_OK;
}

static convoy_status make_all(convoy_graph *graph, const cvy_plan *plan,
                              const span_of_value *spans) {
  size_t values = (size_t)plan->list.values + 1;
  convoy_tensor **of = calloc(values, sizeof *of);
  graph->between = malloc(values * sizeof *graph->between);
  graph->stage = calloc((size_t)graph->stages, sizeof *graph->stage);
  convoy_status status = of && graph->between && graph->stage
                             ? make_tensors(graph, plan, spans, of)
                             : cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph's stages");
  for (int32_t i = 0; i < graph->stages && !status; i++)
    status = make_stage(graph, plan, i, spans, of, &graph->stage[i]);
  free(of);
  return status;
}

static convoy_status make(convoy_graph *graph) {
  cvy_plan *plan;
  convoy_status status = cvy_plan_make(graph, cvy_context_engine(graph->context), &plan);
  if (status) return status;
  span_of_value *spans = find_spans(graph, plan);
  status = spans ? make_all(graph, plan, spans) : CONVOY_ERR_MEMORY;
  if (status) cvy_graph_drop_stages(graph);
  free(spans);
  cvy_plan_drop(plan);
  return status;
}

/* --------------------------------------------------------------------------------------- running
 */

/* What stages left for each other is needed no more, but to make results anew: then the device need
 * not keep it. */
static void let_go(const convoy_graph *graph) {
  convoy_context *context = graph->context;
  for (int32_t i = 0; i < graph->tensors_between; i++) {
    convoy_tensor *tensor = graph->between[i];
    cvy_store *zeros = cvy_store_new(context, tensor->store->bytes);
    if (!zeros) return; /* then the next run replaces it */
    context->run_depth = context->options.verify != CONVOY_VERIFY_ALL;
    cvy_store_retire(tensor->store);
    context->run_depth = 0;
    cvy_tensor_swap(tensor, zeros);
  }
}

convoy_status cvy_graph_run_stage(convoy_graph *graph, int32_t stage, convoy_run *run) {
  if (stage < 0 || stage >= graph->stages)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "stage %d of a graph that has %d", (int)stage,
                    (int)graph->stages);
  if (stage != 0 && stage != graph->next_stage)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "stage %d is run, and stage %d is next", (int)stage,
                    (int)graph->next_stage);
  if (graph->stages == 1) return cvy_graph_run(graph, run);
  convoy_status status = graph->stage ? CONVOY_OK : make(graph);
  if (status) return status;
  graph->stage[stage]->runs = graph->runs;
  status = cvy_graph_run(graph->stage[stage], run);
  if (status) return status;
  graph->next_stage = (stage + 1) % graph->stages;
  if (graph->next_stage) return CONVOY_OK;
  let_go(graph);
  graph->runs++;
  return CONVOY_OK;
}

convoy_status cvy_graph_run_all(convoy_graph *graph, convoy_run *run) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < graph->stages && !status; i++) {
    bool last = i == graph->stages - 1;
    status = cvy_graph_run_stage(graph, i, last ? run : NULL);
  }
  return status;
}
