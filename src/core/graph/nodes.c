/* Nodes and values as lists, and which of them are needed. */
#include "core/graph/nodes.h"

#include <stdlib.h>
#include <string.h>

/* Twice as many each time, so that adding n of them moves fewer than 2 n. */
static convoy_status grow(void **list, int32_t count, int32_t more, int32_t *room, size_t size) {
  if (more <= *room - count) return CONVOY_OK;
  int64_t wanted = 2 * ((int64_t)count + more);
  void *grown = wanted > INT32_MAX ? NULL : realloc(*list, (size_t)wanted * size);
  if (!grown)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a graph of %d nodes", (int)count);
  *list = grown;
  *room = (int32_t)wanted;
  return CONVOY_OK;
}

convoy_status cvy_nodes_reserve(cvy_nodes *list, int32_t nodes, int32_t values) {
  void *node = list->node, *value = list->value;
  convoy_status status = grow(&node, list->nodes, nodes, &list->node_room, sizeof *list->node);
  list->node = node;
  if (!status) status = grow(&value, list->values, values, &list->value_room, sizeof *list->value);
  list->value = value;
  return status;
}

static int32_t add_value(cvy_nodes *list, int64_t bytes, convoy_tensor *tensor) {
  list->value[list->values] = (cvy_graph_value){.bytes = bytes,
                                                .tensor = tensor,
                                                .stage = list->stage,
                                                .origin = list->values,
                                                .last_use = -1,
                                                .inside = -1};
  return list->values++;
}

int32_t cvy_nodes_add_input(cvy_nodes *list, convoy_tensor *tensor) {
  tensor->references++;
  return add_value(list, tensor->store->bytes, tensor);
}

static cvy_problem *copy_of(const cvy_problem *problem) {
  cvy_problem *copy = malloc(cvy_problem_size(problem));
  if (copy)
    cvy_problem_copy(copy, problem);
  else
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a node of a graph");
  return copy;
}

cvy_graph_node *cvy_nodes_add(cvy_nodes *list, const cvy_problem *problem, const int32_t *in) {
  cvy_graph_node node = {.inputs = cvy_problem_reads(problem),
                         .outputs = cvy_problem_outputs(problem),
                         .stage = list->stage};
  if (cvy_nodes_reserve(list, 1, node.outputs)) return NULL;
  node.problem = copy_of(problem);
  if (!node.problem) return NULL;
  memcpy(node.in, in, (size_t)node.inputs * sizeof *in);
  for (int32_t i = 0; i < node.outputs; i++)
    node.out[i] = add_value(list, cvy_problem_output_bytes(problem, i), NULL);
  list->node[list->nodes] = node;
  return &list->node[list->nodes++];
}

convoy_status cvy_nodes_replace(cvy_graph_node *node, const cvy_problem *problem) {
  cvy_problem *copy = copy_of(problem);
  if (!copy) return CONVOY_ERR_MEMORY;
  free(node->problem);
  node->problem = copy;
  node->inputs = cvy_problem_reads(problem);
  node->outputs = cvy_problem_outputs(problem);
  return CONVOY_OK;
}

convoy_status cvy_nodes_set_placed(cvy_graph_node *node, const cvy_problem *placed) {
  cvy_problem *copy = copy_of(placed);
  if (!copy) return CONVOY_ERR_MEMORY;
  free(node->placed);
  node->placed = copy;
  return CONVOY_OK;
}

bool cvy_nodes_reads_first(const cvy_nodes *list, int32_t value) {
  const cvy_graph_value *v = &list->value[value];
  return cvy_graph_reads(v) && (v->origin == value || !cvy_graph_reads(&list->value[v->origin]));
}

void cvy_nodes_set_apart(cvy_nodes *list) {
  for (int32_t v = 0; v < list->values; v++) list->value[v].inside = -1;
  for (int32_t n = 0; n < list->nodes; n++) {
    free(list->node[n].placed);
    list->node[n].placed = NULL;
    list->node[n].idle = false;
  }
}

void cvy_nodes_free_node(cvy_graph_node *node) {
  free(node->problem);
  free(node->placed);
}

void cvy_nodes_shorten(cvy_nodes *list, int32_t nodes, int32_t values) {
  while (list->nodes > nodes) cvy_nodes_free_node(&list->node[--list->nodes]);
  while (list->values > values) {
    convoy_tensor *tensor = list->value[--list->values].tensor;
    if (!list->borrows) cvy_tensor_drop(tensor);
  }
}

void cvy_nodes_drop(cvy_nodes *list) {
  cvy_nodes_shorten(list, 0, 0);
  free(list->node);
  free(list->value);
  *list = (cvy_nodes){0};
}

convoy_status cvy_nodes_copy(const cvy_nodes *from, cvy_nodes *out) {
  *out = (cvy_nodes){.borrows = true};
  convoy_status status = cvy_nodes_reserve(out, from->nodes, from->values);
  for (; !status && out->values < from->values; out->values++)
    out->value[out->values] = from->value[out->values];
  for (int32_t n = 0; !status && n < from->nodes; n++) {
    out->node[n] = from->node[n];
    out->node[n].placed = NULL;
    out->node[n].problem = copy_of(from->node[n].problem);
    if (out->node[n].problem)
      out->nodes++;
    else
      status = CONVOY_ERR_MEMORY;
  }
  if (status) cvy_nodes_drop(out);
  return status;
}

/* ------------------------------------------------------------------------------------ liveness */

static bool makes_what_is_used(const cvy_nodes *list, const cvy_graph_node *node) {
  for (int32_t i = 0; i < node->outputs; i++) {
    const cvy_graph_value *made = &list->value[node->out[i]];
    if (made->kept || made->last_use >= 0) return true;
  }
  return false;
}

/* From the end: a result's readers come later than the node that makes it. */
void cvy_nodes_finish(cvy_nodes *list) {
  for (int32_t v = 0; v < list->values; v++) list->value[v].last_use = -1;
  for (int32_t n = list->nodes - 1; n >= 0; n--) {
    cvy_graph_node *node = &list->node[n];
    node->needed = makes_what_is_used(list, node);
    for (int32_t i = 0; i < node->inputs && node->needed; i++) {
      cvy_graph_value *read = &list->value[node->in[i]];
      if (read->last_use < 0) read->last_use = n;
    }
  }
}
