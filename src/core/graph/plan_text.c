/* A plan for people: its operations, what of each kind they compute and move, and where results
 * lie.
 */
#include "core/graph/plan_text.h"

#include <string.h>

#include "core/graph/place.h"
#include "core/graph/plan_summary.h"
#include "problem/operation.h"

static const double mib = 1 << 20;

/* ----------------------------------------------------------------------------------------- kinds
 */

enum { MOST_KINDS = 64 };

typedef struct kind_sum {
  const cvy_operation *of;
  int32_t count;
  double flops, bytes;
} kind_sum;

static kind_sum *find_kind(kind_sum *kinds, int *count, const cvy_operation *of) {
  for (int i = 0; i < *count; i++)
    if (kinds[i].of == of) return &kinds[i];
  if (*count == MOST_KINDS) return &kinds[MOST_KINDS - 1];
  kinds[*count] = (kind_sum){.of = of};
  return &kinds[(*count)++];
}

static void add_kinds(cvy_text *text, const cvy_plan *plan) {
  kind_sum kinds[MOST_KINDS];
  int count = 0;
  for (int32_t n = 0; n < plan->list.nodes; n++) {
    const cvy_problem *problem = plan->list.node[n].problem;
    if (plan->list.node[n].idle) continue;
    kind_sum *kind = find_kind(kinds, &count, cvy_operation_of(problem));
    kind->count++;
    kind->flops += cvy_problem_flops(problem);
    kind->bytes += cvy_problem_bytes(problem);
  }
  for (int i = 0; i < count; i++)
    cvy_text_add(text, "  %4d %-24s %10.3f GFLOP %10.1f MiB\n", (int)kinds[i].count,
                 kinds[i].of->name, 1e-9 * kinds[i].flops, kinds[i].bytes / mib);
}

/* ------------------------------------------------------------------------------------ operations
 */

static void add_values(cvy_text *text, const int32_t *value, int32_t count) {
  for (int32_t i = 0; i < count; i++) cvy_text_add(text, "%sv%d", i ? " " : "", (int)value[i]);
}

static void add_operations(cvy_text *text, const cvy_plan *plan) {
  for (int32_t n = 0; n < plan->list.nodes; n++) {
    const cvy_graph_node *node = &plan->list.node[n];
    char problem[4096]; /* more than fits elsewhere: programs as they are, not by their hash */
    cvy_problem_text(cvy_graph_node_placed(node), problem, sizeof problem);
    cvy_text_add(text, "%4d: ", (int)n);
    add_values(text, node->out, node->outputs);
    cvy_text_add(text, " = %s of ", problem);
    add_values(text, node->in, node->inputs);
    cvy_text_add(text, node->idle ? ", by where they lie\n" : "\n");
  }
}

/* ---------------------------------------------------------------------------------------- memory
 */

static void add_blocks(cvy_text *text, const cvy_places *places) {
  for (int32_t b = 0; b < places->shared + places->own; b++)
    cvy_text_add(text, "block %d: %lld bytes, %s\n", (int)b, (long long)places->bytes[b],
                 b < places->shared ? "of what is made on the way" : "of a run");
}

static void add_place(cvy_text *text, const cvy_plan *plan, const cvy_places *places, int32_t n,
                      int32_t v) {
  const cvy_graph_value *value = &plan->list.value[v];
  if (places->base[v] == CVY_NOWHERE) return;
  cvy_text_add(text, "v%d: %lld bytes at %lld of block %d, from operation %d ", (int)v,
               (long long)value->bytes, (long long)places->at[v], (int)places->base[v], (int)n);
  if (value->kept)
    cvy_text_add(text, "on\n");
  else
    cvy_text_add(text, "to %d\n", (int)value->last_use);
}

static void add_inputs(cvy_text *text, const cvy_plan *plan) {
  for (int32_t i = 0; i < plan->inputs; i++)
    cvy_text_add(text, "v%d: %lld bytes of a tensor\n", (int)plan->input[i],
                 (long long)plan->list.value[plan->input[i]].bytes);
}

static convoy_status add_memory(cvy_text *text, const cvy_plan *plan) {
  cvy_places places;
  convoy_status status = cvy_places_find(plan, &places);
  if (status) return status;
  add_inputs(text, plan);
  add_blocks(text, &places);
  for (int32_t n = 0; n < plan->list.nodes; n++) {
    const cvy_graph_node *node = &plan->list.node[n];
    for (int32_t i = 0; i < node->outputs; i++) add_place(text, plan, &places, n, node->out[i]);
  }
  cvy_places_free(&places);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------------------- all
 */

static convoy_status add_head(cvy_text *text, const convoy_graph *graph, const cvy_plan *plan) {
  convoy_graph_plan sums = {.struct_size = sizeof sums};
  convoy_status status = cvy_plan_sums(graph, plan, &sums);
  cvy_text_add(text,
               "%d operations of %d captured on %s: %.3f GFLOP, %.1f MiB moved at least; memory of "
               "%.1f MiB on the way, %.1f MiB of a run, %.1f MiB of tensors read\n",
               (int)sums.operations, (int)sums.captured, plan->engine->facts.info.id,
               1e-9 * sums.flops, sums.bytes / mib, (double)sums.internal_bytes / mib,
               (double)sums.written_bytes / mib, (double)sums.read_bytes / mib);
  return status;
}

convoy_status cvy_plan_text(const convoy_graph *graph, char *to, size_t size) {
  cvy_text text = cvy_text_in(to, size);
  cvy_plan *plan;
  convoy_status status = cvy_plan_look(graph, &plan);
  if (status) return status;
  status = add_head(&text, graph, plan);
  add_kinds(&text, plan);
  add_operations(&text, plan);
  if (!status) status = add_memory(&text, plan);
  cvy_plan_drop(plan);
  if (status || !text.overflow) return status;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "the plan's text does not fit into %zu bytes", size);
}
