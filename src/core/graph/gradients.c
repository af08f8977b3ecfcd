/* From the last captured node to the first: each that lies between y and what is asked for passes
 * its results' gradients on to what it read, by the problems that its operation's row makes. */
#include "core/graph/gradients.h"

#include <stdlib.h>
#include <string.h>

#include "core/constants.h"
#include "core/graph/capture.h"
#include "problem/gradient.h"

enum { NONE = -1 };

/* By the numbers of values that were there before, of what stages read of one tensor by the first.
 */
typedef struct backward {
  cvy_capture *capture;
  int32_t nodes, values;
  bool *from, *to;   /* it depends on what is asked for; y depends on it */
  int32_t *gradient; /* the value that is its gradient so far, or NONE */
  cvy_gradient *rule;
} backward;

static int32_t origin_of(const backward *b, int32_t value) {
  return b->capture->graph->list.value[value].origin;
}

/* What it stands for, NONE: nothing that was captured. */
static int32_t origin_of_tensor(const backward *b, const convoy_tensor *tensor) {
  return tensor->value ? origin_of(b, tensor->value - 1) : NONE;
}

/* ------------------------------------------------------------------------------------- checking */

static convoy_status check_ends(const convoy_tensor *y, const convoy_tensor *dy) {
  if (!y->written || y->dtype != CONVOY_FLOAT32)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "y is no result of an operation that was captured");
  if (!dy && y->count != 1)
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "dy is NULL, which is for a single number, and y has %lld elements",
                    (long long)y->count);
  if (dy && dy->dtype != CONVOY_FLOAT32) return cvy_fail(CONVOY_ERR_ARGUMENT, "dy is not float32");
  if (dy && dy->count != y->count)
    return cvy_fail(CONVOY_ERR_SHAPE, "dy has %lld elements, y has %lld", (long long)dy->count,
                    (long long)y->count);
  return CONVOY_OK;
}

static convoy_status check_pair(int32_t i, const convoy_tensor *of, const convoy_tensor *out) {
  if (of->dtype != CONVOY_FLOAT32 || out->dtype != CONVOY_FLOAT32)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "gradient %d: both tensors have to be float32", (int)i);
  bool same = of->dims == out->dims && !memcmp(of->shape, out->shape, sizeof of->shape);
  if (same) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE,
                  "gradient %d: %lld elements for a tensor of %lld, or other extents", (int)i,
                  (long long)out->count, (long long)of->count);
}

static convoy_status check_other(int32_t i, convoy_tensor *const out[]) {
  int32_t j = 0;
  if (!out[i]->marked) return CONVOY_OK;
  while (out[j] != out[i]) j++;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "gradients %d and %d are the same tensor", (int)j, (int)i);
}

static convoy_status check_pairs(int32_t count, convoy_tensor *const of[],
                                 convoy_tensor *const out[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count && !status; i++) {
    status = check_pair(i, of[i], out[i]);
    if (!status) status = check_other(i, out);
    out[i]->marked = true;
  }
  for (int32_t i = 0; i < count; i++) out[i]->marked = false;
  return status;
}

static bool leads_to_y(const backward *b, int32_t n) {
  const cvy_graph_node *node = &b->capture->graph->list.node[n];
  for (int32_t i = 0; i < node->outputs; i++)
    if (b->to[node->out[i]]) return true;
  return false;
}

static bool reads(const backward *b, int32_t n, int32_t value) {
  const cvy_graph_node *node = &b->capture->graph->list.node[n];
  for (int32_t i = 0; i < node->inputs; i++)
    if (origin_of(b, node->in[i]) == value) return true;
  return false;
}

/* Whether y is computed from what the tensor stood for then, until node `end`: by an operation
 * that read it, or by way of a copy. */
static bool is_from(const backward *b, const cvy_stand *then, int32_t end) {
  int32_t value = origin_of(b, then->value);
  if (!b->to[value]) return false;
  bool found = then->shared;
  for (int32_t n = then->from; n < end && !found; n++)
    found = reads(b, n, value) && leads_to_y(b, n);
  return found;
}

/* What each of the tensors stands for now, and what y may have been computed from before. In a mark
 * is where its last reading of the value before it ends. */
static const convoy_tensor *find_written(const backward *b, int32_t count,
                                         convoy_tensor *const of[]) {
  const convoy_tensor *written = NULL;
  for (int32_t i = 0; i < count; i++) of[i]->marked = 1 + b->nodes;
  for (int32_t s = b->capture->stands - 1; s >= 0 && !written; s--) {
    const cvy_stand *then = &b->capture->stand[s];
    if (!then->tensor->marked) continue;
    bool differs = origin_of(b, then->value) != origin_of_tensor(b, then->tensor);
    if (differs && is_from(b, then, then->tensor->marked - 1)) written = then->tensor;
    then->tensor->marked = 1 + then->from;
  }
  for (int32_t i = 0; i < count; i++) of[i]->marked = 0;
  return written;
}

static convoy_status check_unwritten(const backward *b, int32_t count, convoy_tensor *const of[]) {
  const convoy_tensor *written = find_written(b, count, of);
  if (!written) return CONVOY_OK;
  int32_t i = 0;
  while (of[i] != written) i++;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "gradient %d: the tensor has been written since y was computed from it", (int)i);
}

/* ------------------------------------------------------------------------------ what depends */

static void find_to(backward *b, int32_t y) {
  b->to[y] = true;
  for (int32_t n = b->nodes - 1; n >= 0; n--) {
    const cvy_graph_node *node = &b->capture->graph->list.node[n];
    bool leads = leads_to_y(b, n);
    for (int32_t i = 0; i < node->inputs && leads; i++) b->to[origin_of(b, node->in[i])] = true;
  }
}

static void find_from(backward *b, int32_t count, convoy_tensor *const of[]) {
  const cvy_nodes *list = &b->capture->graph->list;
  for (int32_t i = 0; i < count; i++)
    if (of[i]->value) b->from[origin_of_tensor(b, of[i])] = true;
  for (int32_t n = 0; n < b->nodes; n++) {
    const cvy_graph_node *node = &list->node[n];
    bool reached = false;
    for (int32_t i = 0; i < node->inputs; i++)
      reached = reached || b->from[origin_of(b, node->in[i])];
    for (int32_t i = 0; i < node->outputs && reached; i++)
      b->from[node->out[i]] = !list->value[node->out[i]].detached;
  }
}

/* ------------------------------------------------------------------------------------- noting */

static convoy_status add_up(backward *b, int32_t *sum, int32_t more) {
  convoy_graph *graph = b->capture->graph;
  cvy_problem problem;
  const int32_t in[] = {*sum, more};
  if (*sum == NONE) {
    *sum = more;
    return CONVOY_OK;
  }
  convoy_status status =
      cvy_problem_sum(graph->list.value[more].bytes / (int64_t)sizeof(float), &problem);
  const cvy_graph_node *node = status ? NULL : cvy_nodes_add(&graph->list, &problem, in);
  if (node) *sum = node->out[0];
  return node ? CONVOY_OK : status ? status : CONVOY_ERR_MEMORY;
}

static int32_t value_of(const backward *b, const cvy_graph_node *node, const int32_t *steps,
                        const cvy_gradient_operand *operand) {
  switch ((enum cvy_gradient_source)operand->source) {
    case CVY_GRADIENT_INPUT:
      return node->in[operand->number];
    case CVY_GRADIENT_OUTPUT:
      return node->out[operand->number];
    case CVY_GRADIENT_OF_OUTPUT:
      return b->gradient[node->out[operand->number]];
    case CVY_GRADIENT_STEP:
      return b->capture->graph->list.node[steps[operand->number]].out[operand->output];
    default:
      return NONE;
  }
}

static convoy_status note_steps(backward *b, const cvy_graph_node *node, int32_t *steps) {
  convoy_graph *graph = b->capture->graph;
  for (int32_t s = 0; s < b->rule->steps; s++) {
    const cvy_gradient_step *step = &b->rule->step[s];
    int32_t in[CVY_MOST_READ];
    for (int32_t i = 0; i < cvy_problem_reads(&step->problem); i++)
      in[i] = value_of(b, node, steps, &step->in[i]);
    if (!cvy_nodes_add(&graph->list, &step->problem, in)) return CONVOY_ERR_MEMORY;
    steps[s] = graph->list.nodes - 1;
  }
  return CONVOY_OK;
}

static convoy_status pass_on(backward *b, int32_t n) {
  const cvy_graph_node node = b->capture->graph->list.node[n]; /* the list grows meanwhile */
  int32_t steps[CVY_GRADIENT_STEPS];
  uint32_t wanted = 0, given = 0;
  for (int32_t i = 0; i < node.inputs; i++)
    wanted |= (uint32_t)b->from[origin_of(b, node.in[i])] << i;
  for (int32_t i = 0; i < node.outputs; i++)
    given |= (uint32_t)(b->gradient[node.out[i]] != NONE) << i;
  if (!wanted || !given) return CONVOY_OK;
  convoy_status status = cvy_problem_gradient(node.problem, wanted, given, b->rule);
  if (!status) status = note_steps(b, &node, steps);
  for (int32_t i = 0; i < node.inputs && !status; i++) {
    int32_t more = value_of(b, &node, steps, &b->rule->of[i]);
    if (wanted >> i & 1 && more != NONE)
      status = add_up(b, &b->gradient[origin_of(b, node.in[i])], more);
  }
  return status;
}

static convoy_status note_all(backward *b, int32_t y, int32_t dy) {
  convoy_status status = CONVOY_OK;
  b->gradient[y] = dy;
  for (int32_t n = b->nodes - 1; n >= 0 && !status; n--) status = pass_on(b, n);
  return status;
}

/* A tensor of its own, which the graph alone has: new ones are zeros. */
static convoy_status add_zeros(const backward *b, int64_t count, int32_t *value) {
  convoy_tensor *tensor;
  convoy_status status = cvy_nodes_reserve(&b->capture->graph->list, 0, 1);
  if (!status)
    status = cvy_tensor_new(b->capture->graph->context, CONVOY_FLOAT32, 1, &count, &tensor);
  if (status) return status;
  *value = cvy_nodes_add_input(&b->capture->graph->list, tensor);
  cvy_tensor_drop(tensor);
  return CONVOY_OK;
}

/* What is not reached gets 0. */
static convoy_status find_results(backward *b, int32_t count, convoy_tensor *const of[],
                                  int32_t *result) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count && !status; i++) {
    result[i] = of[i]->value ? b->gradient[origin_of_tensor(b, of[i])] : NONE;
    if (result[i] == NONE) status = add_zeros(b, of[i]->count, &result[i]);
  }
  return status;
}

/* -------------------------------------------------------------------------------------- memory */

static convoy_status begin(cvy_capture *capture, backward *out) {
  const cvy_nodes *list = &capture->graph->list;
  size_t values = (size_t)list->values;
  *out = (backward){.capture = capture, .nodes = list->nodes, .values = list->values};
  out->from = calloc(values, sizeof(bool));
  out->to = calloc(values, sizeof(bool));
  out->gradient = malloc(values * sizeof(int32_t));
  out->rule = malloc(sizeof *out->rule);
  if (!out->from || !out->to || !out->gradient || !out->rule)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for gradients of %d values", (int)values);
  for (size_t v = 0; v < values; v++) out->gradient[v] = NONE;
  return CONVOY_OK;
}

static void end(backward *b, convoy_status status) {
  if (status) cvy_nodes_shorten(&b->capture->graph->list, b->nodes, b->values);
  free(b->from);
  free(b->to);
  free(b->gradient);
  free(b->rule);
}

static convoy_status note_gradients(backward *b, const convoy_tensor *y, const convoy_tensor *dy,
                                    int32_t count, convoy_tensor *const of[], int32_t *result) {
  convoy_status status = CONVOY_OK;
  int32_t from = origin_of_tensor(b, y);
  find_to(b, from);
  find_from(b, count, of);
  status = check_unwritten(b, count, of);
  if (!status) status = note_all(b, from, dy->value - 1);
  if (!status) status = find_results(b, count, of, result);
  return status;
}

convoy_status cvy_gradients(convoy_context *context, convoy_tensor *y, convoy_tensor *dy,
                            int32_t count, convoy_tensor *const of[], convoy_tensor *const out[]) {
  cvy_capture *capture = context->capture;
  backward b = {.capture = capture};
  int32_t unused, *result = malloc((size_t)count * sizeof *result);
  if (!result) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %d gradients", (int)count);
  convoy_status status = cvy_capture_check(context, "convoy_gradients");
  if (!status) status = check_ends(y, dy);
  if (!status) status = check_pairs(count, of, out);
  if (!status) status = cvy_capture_reserve(capture, count + 1);
  if (!status && !dy) status = cvy_constant(context, 1.0f, &dy);
  if (!status) status = cvy_capture_value(capture, dy, &unused);
  if (!status) {
    status = begin(capture, &b);
    if (!status) status = note_gradients(&b, y, dy, count, of, result);
    end(&b, status);
  }
  for (int32_t i = 0; i < count && !status; i++) cvy_capture_set(capture, out[i], result[i]);
  free(result);
  return status;
}
