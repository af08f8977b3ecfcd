/* What is checked before a run on foreign memory, and what has to be done behind it. */
#include "core/graph/foreign_graph.h"

#include <stdlib.h>

#include "core/exec/device.h"
#include "core/exec/foreign.h"
#include "core/exec/launch.h"
#include "core/graph/device_plan.h"
#include "core/graph/shared_memory.h"

/* ------------------------------------------------------------------------------------ overlaps */

typedef struct range {
  uint64_t first, end;
  bool written;
} range;

static void add(const convoy_tensor *tensor, bool written, range *ranges, int32_t *count) {
  const cvy_store *store = tensor->store;
  if (!store->foreign || store->bytes == 0) return;
  ranges[(*count)++] = (range){store->address, store->address + (uint64_t)store->bytes, written};
}

/* Those that are read, too. */
static void mark_written(const convoy_graph *graph, bool marked) {
  for (int32_t i = 0; i < graph->outputs; i++)
    if (graph->output[i].carried) graph->output[i].tensor->marked = marked;
}

/* Results that are made elsewhere first, and copied, may lie over anything but each other: they are
 * held to the same rule all the same, since which ones those are depends on planning. A tensor that
 * is read and written is no overlap. */
static int32_t find_ranges(const convoy_graph *graph, range *ranges) {
  const cvy_nodes *list = &graph->list;
  int32_t count = 0;
  for (int32_t i = 0; i < graph->outputs; i++) add(graph->output[i].tensor, true, ranges, &count);
  mark_written(graph, true);
  for (int32_t v = 0; v < list->values; v++) {
    const convoy_tensor *tensor = list->value[v].tensor;
    if (cvy_graph_reads(&list->value[v]) && !tensor->marked) add(tensor, false, ranges, &count);
  }
  mark_written(graph, false);
  return count;
}

static int by_address(const void *left, const void *right) {
  const range *a = left, *b = right;
  return (a->first > b->first) - (a->first < b->first);
}

static convoy_status refuse(const range *written, const range *other) {
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "memory at %#llx to %#llx is written, and overlaps %#llx to %#llx of another "
                  "tensor of the graph",
                  (unsigned long long)written->first, (unsigned long long)written->end,
                  (unsigned long long)other->first, (unsigned long long)other->end);
}

static convoy_status compare(range *ranges, int32_t count) {
  qsort(ranges, (size_t)count, sizeof *ranges, by_address);
  range read = {0}, written = {0}; /* that of each kind which ends last */
  for (int32_t i = 0; i < count; i++) {
    const range *now = &ranges[i];
    if (now->first < written.end) return refuse(&written, now);
    if (now->written && now->first < read.end) return refuse(now, &read);
    range *last = now->written ? &written : &read;
    if (now->end > last->end) *last = *now;
  }
  return CONVOY_OK;
}

convoy_status cvy_foreign_graph_check(convoy_graph *graph) {
  uint64_t moves = graph->context->foreign_moves;
  if (graph->moves == moves) return CONVOY_OK;
  size_t most = (size_t)graph->outputs + (size_t)graph->list.values + 1;
  range *ranges = malloc(most * sizeof *ranges);
  if (!ranges) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to check a graph's tensors");
  convoy_status status = compare(ranges, find_ranges(graph, ranges));
  free(ranges);
  if (!status) graph->moves = moves;
  return status;
}

/* ----------------------------------------------------------------------------------- recorded */

convoy_status cvy_foreign_graph_refuse(convoy_context *context) {
  return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                  "the stream is being recorded, and this graph has not run and been proved before "
                  "as it would now, or %s has no allocator",
                  context->device.facts.info.id);
}

/* As the plan has it; without one it has never come before. */
static void first_job(const convoy_graph *graph, cvy_job *job) {
  const cvy_plan *plan = graph->plan;
  cvy_choice choice = {0};
  const cvy_problem *problem = graph->list.node[0].problem;
  if (plan && plan->device && plan->device->choice && plan->list.nodes > 0) {
    choice = plan->device->choice[0];
    problem = cvy_graph_node_placed(&plan->list.node[0]);
  }
  cvy_job_set(job, problem, choice.row, &choice.params);
}

convoy_status cvy_foreign_graph_recording(const convoy_graph *graph, bool *recorded) {
  convoy_context *context = graph->context;
  cvy_recording recording = CVY_NOT_RECORDING;
  *recorded = false;
  if (!cvy_device_ready(context) || !graph->list.nodes) return CONVOY_OK;
  cvy_job job;
  first_job(graph, &job);
  convoy_status status = cvy_device_recording(context, &job, &recording);
  if (status || recording == CVY_NOT_RECORDING) return status;
  if (recording != CVY_RECORDING_KNOWN) return cvy_foreign_graph_refuse(context);
  *recorded = true;
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------------- landing */

/* What a tensor in foreign memory gives to another, or to a later stage, is read before
 * anything is written. */
static convoy_status set_aside(const convoy_graph *graph, cvy_store *out[], int32_t i) {
  convoy_context *context = graph->context;
  cvy_store *aside = cvy_store_new(context, out[i]->bytes);
  if (!aside) return CONVOY_ERR_MEMORY;
  convoy_status status = cvy_launch_room(aside);
  const cvy_command command = {CVY_COPY, .copy = {out[i]->array, aside->array, aside->bytes}};
  if (!status) status = cvy_device_execute(context, &command);
  aside->ticket = context->last_ticket;
  aside->irreplaceable = true;
  cvy_store_drop(out[i]);
  out[i] = aside;
  return status;
}

static bool is_given(const convoy_graph *graph, cvy_store *const out[], int32_t i) {
  return out[i]->foreign && out[i]->bytes > 0 && out[i] != graph->output[i].tensor->store;
}

static bool is_elsewhere(const convoy_graph *graph, cvy_store *const out[], int32_t i) {
  const cvy_store *home = graph->output[i].tensor->store;
  return home->foreign && home->bytes > 0 && out[i] != home;
}

convoy_status cvy_foreign_graph_land(const convoy_graph *graph, cvy_store *out[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < graph->outputs && !status; i++)
    if (is_given(graph, out, i)) status = set_aside(graph, out, i);
  for (int32_t i = 0; i < graph->outputs && !status; i++) {
    if (!is_elsewhere(graph, out, i)) continue;
    cvy_store *home = graph->output[i].tensor->store;
    status = cvy_foreign_bring(out[i], home);
    cvy_store_drop(out[i]);
    out[i] = cvy_store_keep(home);
  }
  return status;
}

/* --------------------------------------------------------------------------------------- ending
 */

convoy_status cvy_foreign_graph_end(const convoy_graph *graph) {
  const cvy_nodes *list = &graph->list;
  cvy_shared_memory_drop(graph->context);
  for (int32_t v = 0; v < list->values; v++)
    if (list->value[v].tensor) cvy_foreign_forget(list->value[v].tensor->store);
  for (int32_t i = 0; i < graph->outputs; i++) cvy_foreign_forget(graph->output[i].tensor->store);
  return cvy_foreign_enqueued(graph->context);
}
