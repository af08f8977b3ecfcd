/* From wherever values are to where they are wanted. Reading back may meet a fault, which may take
 * other values along, which are then computed anew from others still: this file and
 * exec/low_memory.c, which carries out in pieces what has no room as a whole, are the one place
 * where core calls itself. */
#include "core/exec/values.h"

#include <string.h>

#include "core/exec/compute.h"
#include "core/exec/device.h"
#include "core/exec/foreign.h"
#include "core/exec/history.h"
#include "core/exec/launch.h"
#include "core/exec/low_memory.h"
#include "core/exec/recover.h"
#include "core/verify/nan_watch.h"
#include "core/verify/verification.h"
#include "os/os.h"

convoy_status cvy_node_fetch(const cvy_node *node) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < node->inputs && !status; i++) status = cvy_store_fetch(node->input[i]);
  return status;
}

/* -------------------------------------------------------------------------------- CPU engine */

static convoy_status compute(convoy_context *context, const cvy_node *node, float *const values[]) {
  const float *in[CVY_MOST_READ];
  const cvy_store *prior = cvy_node_prior(node);
  convoy_status status = cvy_node_fetch(node);
  if (status) return status;
  for (int32_t i = 0; i < node->inputs; i++) in[i] = node->input[i]->host;
  if (prior && values[0]) memcpy(values[0], prior->host, (size_t)prior->bytes);
  return cvy_compute(context, &node->problem, in, values);
}

static void drop_values(cvy_store *const out[], int32_t count, float *values[]) {
  for (int32_t i = 0; i < count; i++) cvy_values_drop(out[i], values[i]);
}

convoy_status cvy_compute_stores(convoy_context *context, const cvy_node *node,
                                 cvy_store *const out[]) {
  float *values[CVY_MAX_OUTPUTS] = {NULL};
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < node->outputs && !status; i++)
    status = cvy_values_new(out[i], &values[i]);
  if (!status) status = compute(context, node, values);
  if (status) {
    drop_values(out, node->outputs, values);
    return status;
  }
  for (int32_t i = 0; i < node->outputs; i++) cvy_store_publish(out[i], values[i]);
  return CONVOY_OK;
}

void cvy_report_failover(convoy_context *context, const cvy_problem *problem) {
  const char *name = cvy_chosen(&context->cpu, &context->call.choice)->name;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_brief(problem, text, sizeof(text));
  cvy_report(context, CONVOY_EVENT_FAILOVER, context->call.first_fault, name,
             "computed by %s instead of %s: %s", name, context->device.facts.info.id, text);
}

/* ---------------------------------------------------------------------------------- siblings */

/* Host memory for all results of a node, of which one store wants its own in `values`. Those of
 * stores that have their values, or are gone, are computed all the same, and given up. */
typedef struct results {
  convoy_context *context;
  cvy_node *node;
  float *values[CVY_MAX_OUTPUTS];
  int32_t wanted;
} results;

static void drop_result(const results *all, int32_t i) {
  int64_t bytes = cvy_problem_output_bytes(&all->node->problem, i);
  cvy_free_list_give(&all->context->memory, all->values[i], bytes);
}

static void results_drop(const results *all) {
  for (int32_t i = 0; i < all->node->outputs; i++)
    if (i != all->wanted) drop_result(all, i);
  cvy_node_drop(all->node);
}

static convoy_status results_new(const cvy_store *store, float *values, results *out) {
  *out = (results){store->context, cvy_node_keep(store->history), {NULL}, store->output};
  for (int32_t i = 0; i < out->node->outputs; i++) {
    int64_t bytes = cvy_problem_output_bytes(&out->node->problem, i);
    out->values[i] = i == out->wanted ? values : cvy_free_list_take(&out->context->memory, bytes);
    if (out->values[i]) continue;
    results_drop(out);
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %lld bytes", (long long)bytes);
  }
  return CONVOY_OK;
}

/* The node's other results are there now, too. */
static void results_publish(results *all) {
  for (int32_t i = 0; i < all->node->outputs; i++) {
    cvy_store *sibling = all->node->output[i];
    if (i == all->wanted || !sibling || sibling->status) continue;
    cvy_store_publish(sibling, all->values[i]);
    all->values[i] = NULL;
  }
  results_drop(all);
}

/* Of what a run of a graph made on its way, and another result has to be computed from, only the
 * number is told: it may be thousands. */
static void report(convoy_context *context, const cvy_node *node, const cvy_store *waiting) {
  if (node->in_run && waiting)
    context->health.failovers++;
  else
    cvy_report_failover(context, &node->problem);
}

/* An operation whose values the device has lost. */
static convoy_status recompute(const cvy_store *store, results *all) {
  convoy_context *context = all->context;
  convoy_status status = compute(context, all->node, all->values);
  if (status) return status;
  context->health.device_operations--; /* it was counted when it was enqueued */
  report(context, all->node, store->waiting);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------------ judging */

static convoy_status judge_by(cvy_store *store, const float *values, const float *const in[],
                              const cvy_verification_plan *plan) {
  bool right = true;
  cvy_mismatch found;
  convoy_status status = cvy_verification_judge(store, values, in, plan, &right, &found);
  if (status) return status;
  cvy_node *node = store->history;
  const cvy_carried_out what = {&node->problem, &node->choice, store->number, store->ticket};
  if (!right) {
    uint64_t first = cvy_verification_wrong(store->context, &what, &found);
    return cvy_recover_wrong(store->context, &what, first);
  }
  cvy_verification_prove(store->context, node);
  cvy_verification_right(store->context, &what);
  return CONVOY_OK;
}

/* What it was computed from comes first, and is judged so too. */
static convoy_status judge(cvy_store *store, const float *values,
                           const cvy_verification_plan *plan) {
  const float *in[CVY_MOST_READ];
  double began = cvy_clock();
  convoy_status status = cvy_node_fetch(store->history);
  /* An operand turned out wrong, or the device failed: what was computed from it went along. */
  if (!status && !store->array)
    status = cvy_fail(CONVOY_ERR_WRONG, "it was computed from a wrong result");
  for (int32_t i = 0; i < store->history->inputs && !status; i++)
    in[i] = store->history->input[i]->host;
  double judging = cvy_clock();
  if (!status) status = judge_by(store, values, in, plan);
  cvy_verification_charge(store, began, judging);
  return status;
}

static convoy_status verify(cvy_store *store, const float *values) {
  cvy_verification_plan plan;
  if (!cvy_verification_applies(store)) return CONVOY_OK;
  double began = cvy_verification_begin(store->context);
  convoy_status status = CONVOY_OK;
  if (cvy_verification_plan_for(store, values, &plan)) status = judge(store, values, &plan);
  cvy_verification_end(store->context, began);
  return status;
}

/* --------------------------------------------------------------------------------------- taps */

/* Not what the host has already, and not what is on its way there: that may be taken only once. */
static convoy_status copy_for_tap(cvy_store *store, float **out) {
  *out = NULL;
  if (store->host) return CONVOY_OK;
  convoy_status status = cvy_values_new(store, out);
  if (!status && store->array) return cvy_read_back(store, *out);
  if (!status) memset(*out, 0, (size_t)store->bytes);
  return status;
}

static bool can_be_tapped(const cvy_store *store) {
  const cvy_node *node = store->history;
  if (!node || node->composite || !store->array || store->fetch || !cvy_verification_applies(store))
    return false;
  for (int32_t i = 0; i < node->inputs; i++)
    if (node->input[i]->fetch || node->input[i]->status) return false;
  return true;
}

/* The result is the last of the copies. */
static convoy_status judge_copies(cvy_store *store, float *copy[]) {
  const float *in[CVY_MOST_READ];
  const cvy_node *node = store->history;
  cvy_verification_plan plan;
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < node->inputs && !status; i++) {
    status = copy_for_tap(node->input[i], &copy[i]);
    in[i] = copy[i] ? copy[i] : node->input[i]->host;
  }
  float **result = &copy[node->inputs];
  if (!status) status = copy_for_tap(store, result);
  if (!status && cvy_verification_plan_for(store, *result, &plan))
    status = judge_by(store, *result, in, &plan);
  return status;
}

/* The values are read for this only: unverified ones must not become those that others are computed
 * anew from. A fault that takes some of them meanwhile has been dealt with. */
convoy_status cvy_verify_tapped(cvy_store *store) {
  float *copy[CVY_MOST_READ + 1] = {NULL};
  if (!can_be_tapped(store)) return CONVOY_OK;
  cvy_node *node = cvy_node_keep(store->history);
  double began = cvy_verification_begin(store->context);
  convoy_status status = judge_copies(store, copy);
  cvy_verification_charge(store, began, began);
  cvy_verification_end(store->context, began);
  for (int32_t i = 0; i < node->inputs; i++) cvy_values_drop(node->input[i], copy[i]);
  cvy_values_drop(store, copy[node->inputs]);
  cvy_node_drop(node);
  return store->context->options.failover ? CONVOY_OK : status;
}

/* ---------------------------------------------------------------------------------- fetching */

/* Reads from the device. A fault in other commands may leave the store's copy good: once more. */
static convoy_status read_back(cvy_store *store, float *values) {
  convoy_status status = CONVOY_ERR_DEVICE;
  for (int tries = 0; status && store->array && tries < 2; tries++) {
    status = cvy_read_back(store, values);
    if (status == CONVOY_ERR_INTERRUPTED || !store->context->options.failover) break;
  }
  return status;
}

static void watch(const cvy_store *store, const float *values) {
  cvy_node *node = store->history;
  if (node->composite)
    node->composite->watch(node, store->output, values);
  else
    cvy_watch_result(store->context, &node->problem, store->output, values);
}

static bool may_go_elsewhere(const convoy_context *context) {
  return context->options.failover && !context->call.only_here;
}

/* Reads what the device has, and judges it. With *left that failed, the device copy has been given
 * up, and the values may come from elsewhere. */
static convoy_status take(cvy_store *store, float *values, bool *left) {
  convoy_status status = read_back(store, values);
  if (!status && store->history) status = verify(store, values);
  if (!status && store->history) watch(store, values);
  *left = status && status != CONVOY_ERR_INTERRUPTED && may_go_elsewhere(store->context);
  if (*left) cvy_store_leave_device(store);
  return status;
}

/* All that it made is there then. */
static convoy_status make_composite(cvy_store *store) {
  cvy_node *node = cvy_node_keep(store->history);
  convoy_status status = cvy_node_fetch(node);
  if (!status) status = node->composite->make(node);
  cvy_node_drop(node);
  return status;
}

/* The device lost the values. If for lack of memory only, it gets another chance with less. */
static convoy_status make_anew(cvy_store *store, float *values) {
  convoy_context *context = store->context;
  results all;
  if (store->starved && context->low_memory)
    return cvy_fail(CONVOY_ERR_MEMORY, "%s has too little memory", context->device.facts.info.id);
  convoy_status status = results_new(store, values, &all);
  if (status) return status;
  bool again = store->starved && context->options.failover && cvy_device_ready(context);
  bool there = again && !cvy_low_memory_run(context, all.node, all.values);
  if (!there) status = recompute(store, &all);
  if (status)
    results_drop(&all);
  else
    results_publish(&all);
  return status;
}

static convoy_status gather(cvy_store *store, float *values) {
  if (store->array) {
    bool left;
    convoy_status status = take(store, values, &left);
    if (!left) return status;
  }
  if (store->history && store->history->composite) return make_composite(store);
  if (store->history) return make_anew(store, values);
  if (store->foreign && store->bytes > 0) return cvy_foreign_gone(store);
  memset(values, 0, (size_t)store->bytes);
  return CONVOY_OK;
}

static convoy_status fetch(cvy_store *store) {
  if (store->status) return cvy_store_failed(store);
  if (store->host) return CONVOY_OK;
  float *values;
  convoy_status status = cvy_values_new(store, &values);
  if (status) return status;
  status = gather(store, values);
  if (status) {
    cvy_values_drop(store, values);
    return status;
  }
  cvy_store_publish(store, values);
  return CONVOY_OK;
}

/* One that it has to be computed from, and that has to be computed itself. */
static cvy_store *lost_operand(const cvy_store *store) {
  if (cvy_store_is_there(store) || store->status) return NULL;
  for (int32_t i = 0; i < store->history->inputs; i++) {
    cvy_store *input = store->history->input[i];
    if (!cvy_store_is_there(input) && !input->status) return input;
  }
  return NULL;
}

/* Its operands first, and theirs. Behind a result of a graph's run may be thousands of operations,
 * more than a stack is deep: those that wait for an operand are a list. What is computed on the way
 * goes as soon as nothing else is made of it. */
convoy_status cvy_store_fetch(cvy_store *store) {
  cvy_store *first = cvy_store_keep(store);
  convoy_status status = CONVOY_OK;
  while (first) {
    cvy_store *now = first, *lost = status ? NULL : lost_operand(now);
    if (lost) {
      lost->waiting = now;
      first = cvy_store_keep(lost);
      continue;
    }
    if (!status) status = fetch(now);
    first = now->waiting;
    now->waiting = NULL;
    cvy_store_drop(now);
  }
  return status;
}

bool cvy_store_is_direct(const cvy_store *store, const float *values) {
  bool only_there = store->array && !store->host && !store->fetch && !store->status;
  bool is_wanted_there = store->arrived || cvy_host_has(store->context, values, store->bytes);
  return only_there && is_wanted_there;
}

convoy_status cvy_store_read(cvy_store *store, float *values) {
  if (cvy_store_is_direct(store, values)) {
    bool left;
    convoy_status status = take(store, values, &left);
    if (!left) return status;
  }
  convoy_status status = cvy_store_fetch(store);
  if (!status) cvy_copy(values, store->host, store->bytes);
  return status;
}

/* ------------------------------------------------------------------------------------- device */

/* Of no elements there is nothing. */
static bool is_there(const cvy_store *store) {
  return store->array || store->bytes == 0;
}

static bool all_there(const cvy_node *node) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (!is_there(node->input[i])) return false;
  return true;
}

/* A fault may have taken the values: then they are computed anew first. */
convoy_status cvy_store_send(cvy_store *store) {
  convoy_status status = CONVOY_OK;
  if (!store->array && store->history) status = cvy_store_fetch(store);
  return status ? status : cvy_upload(store);
}

/* A fault met on the way may take what was brought before: once more then. */
static convoy_status upload_inputs(convoy_context *context, const cvy_node *node) {
  for (int tries = 0; tries < 2; tries++) {
    for (int32_t i = 0; i < node->inputs; i++) {
      convoy_status status = cvy_store_send(node->input[i]);
      if (status) return status;
    }
    if (all_there(node)) return CONVOY_OK;
  }
  return cvy_fail(CONVOY_ERR_DEVICE, "%s lost what it was given", context->device.facts.info.id);
}

void cvy_limit_history(convoy_context *context) {
  cvy_store *excess;
  while ((excess = cvy_history_excess(context)) && !cvy_store_fetch(excess)) continue;
}

/* If reading back fails, the store keeps its history and the next operation tries again. */
static void keep_history(convoy_context *context, cvy_node *node, cvy_store *const out[]) {
  cvy_history_keep(node, out);
  if (context->run_depth) return; /* it is cut where the run ends */
  for (int32_t i = 0; i < node->outputs; i++)
    if (cvy_history_is_long(out[i], CVY_HISTORY_DEEPEST)) cvy_store_fetch(out[i]);
  cvy_limit_history(context);
}

convoy_status cvy_enqueue(convoy_context *context, const cvy_node *node, const cvy_choice *choice,
                          cvy_store *const out[]) {
  bool is_first = cvy_launch_announce(context, &node->problem, choice);
  convoy_status status = upload_inputs(context, node);
  if (!status) status = cvy_launch(context, node, choice, out);
  /* Nobody waits for what is in somebody else's stream, but for a first use, and that is over. */
  if (!status && is_first && context->has_stream) status = cvy_await(context, out[0]->ticket);
  return status;
}

convoy_status cvy_perform_chosen(convoy_context *context, cvy_node *node, const cvy_choice *choice,
                                 cvy_store *const out[]) {
  bool recorded;
  cvy_verification_number(context, node, choice, out);
  context->call.spent.is_new |= node->unproven;
  bool leaves = cvy_foreign_place(node, out);
  convoy_status status = cvy_foreign_admit(context, node, choice, leaves, &recorded);
  if (!status && recorded) status = cvy_launch(context, node, choice, out);
  if (!status && !recorded) status = cvy_enqueue(context, node, choice, out);
  if (status) return status;
  cvy_note_engine(context, &context->device, choice);
  if (leaves) return CONVOY_OK;
  keep_history(context, node, out);
  bool at_once = node->unproven || cvy_foreign_concerns(node, out);
  for (int32_t i = 0; i < node->outputs && at_once && !status; i++)
    status = cvy_store_fetch(out[i]);
  return status;
}
