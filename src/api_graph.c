/* Public functions on captured graphs: check pointers, call core. */
#include "api_check.h"
#include "core/graph/capture.h"
#include "core/graph/gradients.h"
#include "core/graph/plan_summary.h"
#include "core/graph/plan_text.h"
#include "core/graph/stages.h"
#include "core/operation.h"

/* ----------------------------------------------------------------------------------- capture */

convoy_status convoy_capture_begin(convoy_context *context) {
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_capture_begin(context));
}

convoy_status convoy_capture_end(convoy_context *context, convoy_graph **out) {
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_capture_end(context, out));
}

convoy_status convoy_capture_cut(convoy_context *context) {
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_capture_cut(context));
}

static convoy_status check_gradients(const convoy_tensor *y, int32_t count,
                                     const convoy_tensor *const of[], convoy_tensor *const out[]) {
  const cvy_pointer given[] = {{"y", y}, {"of", of}, {"out", out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status && count < 1)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "gradients of %d tensors are asked for", (int)count);
  for (int32_t i = 0; i < count && !status; i++) {
    const cvy_pointer pair[] = {{"a tensor in of", of[i]}, {"a tensor in out", out[i]}};
    status = cvy_check_pointers(pair, CVY_COUNT(pair));
  }
  return status;
}

convoy_status convoy_gradients(convoy_context *context, convoy_tensor *y, convoy_tensor *dy,
                               int32_t count, convoy_tensor *const of[],
                               convoy_tensor *const out[]) {
  const convoy_tensor *const ends[] = {y, dy};
  convoy_status status = check_gradients(y, count, (const convoy_tensor *const *)of, out);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  status = cvy_check_owners(context, ends, CVY_COUNT(ends));
  if (!status) status = cvy_check_owners(context, (const convoy_tensor *const *)of, count);
  if (!status) status = cvy_check_owners(context, (const convoy_tensor *const *)out, count);
  if (!status) status = cvy_gradients(context, y, dy, count, of, out);
  return cvy_leave(context, status);
}

/* ------------------------------------------------------------------------------------ graphs */

static convoy_status enter(const convoy_graph *graph) {
  if (!graph) return cvy_fail(CONVOY_ERR_ARGUMENT, "graph is NULL");
  return cvy_enter(graph->context);
}

convoy_status convoy_graph_run(convoy_graph *graph, convoy_run *run) {
  convoy_status status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = enter(graph);
  if (status) return status;
  status = cvy_capture_refuses(graph->context, "convoy_graph_run");
  if (!status) status = cvy_graph_run_all(graph, run);
  return cvy_leave(graph->context, status);
}

convoy_status convoy_graph_run_stage(convoy_graph *graph, int32_t stage, convoy_run *run) {
  convoy_status status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = enter(graph);
  if (status) return status;
  status = cvy_capture_refuses(graph->context, "convoy_graph_run_stage");
  if (!status) status = cvy_graph_run_stage(graph, stage, run);
  return cvy_leave(graph->context, status);
}

convoy_status convoy_graph_runs(const convoy_graph *graph, uint64_t *runs) {
  if (!runs) return cvy_fail(CONVOY_ERR_ARGUMENT, "runs is NULL");
  convoy_status status = enter(graph);
  if (status) return status;
  *runs = graph->runs;
  return cvy_leave(graph->context, CONVOY_OK);
}

convoy_status convoy_graph_set_runs(convoy_graph *graph, uint64_t runs) {
  convoy_status status = enter(graph);
  if (status) return status;
  graph->runs = runs;
  return cvy_leave(graph->context, CONVOY_OK);
}

convoy_status convoy_graph_text(const convoy_graph *graph, char *text, size_t size) {
  if (!text) return cvy_fail(CONVOY_ERR_ARGUMENT, "text is NULL");
  convoy_status status = enter(graph);
  return status ? status : cvy_leave(graph->context, cvy_graph_text(graph, text, size));
}

convoy_status convoy_plan_graph(const convoy_graph *graph, convoy_graph_plan *out) {
  convoy_status status = cvy_check_struct("out", out, sizeof *out, false);
  if (!status) status = enter(graph);
  return status ? status : cvy_leave(graph->context, cvy_plan_summary(graph, out));
}

convoy_status convoy_plan_text(const convoy_graph *graph, char *text, size_t size) {
  if (!text) return cvy_fail(CONVOY_ERR_ARGUMENT, "text is NULL");
  convoy_status status = enter(graph);
  return status ? status : cvy_leave(graph->context, cvy_plan_text(graph, text, size));
}

void convoy_graph_free(convoy_graph *graph) {
  if (!graph) return;
  convoy_context *context = graph->context;
  atomic_fetch_add(&context->references, 1); /* it outlasts its last graph until it is unlocked */
  cvy_lock(context);
  cvy_graph_drop(graph);
  cvy_unlock(context);
  cvy_pool_drop(context);
}
