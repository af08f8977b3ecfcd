/* Putting a state together. */
#include "nn/state.h"

#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "core/graph/graph.h"
#include "core/operation.h"

convoy_status convoy_state_new(convoy_context *context, convoy_state **out) {
  if (!out) return cvy_fail(CONVOY_ERR_ARGUMENT, "out is NULL");
  convoy_status status = cvy_enter(context);
  if (status) return status;
  convoy_state *state = calloc(1, sizeof *state);
  if (!state) return cvy_leave(context, cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a state"));
  state->context = context;
  atomic_fetch_add(&context->references, 1);
  *out = state;
  return cvy_leave(context, CONVOY_OK);
}

void convoy_state_free(convoy_state *state) {
  if (!state) return;
  cvy_lock(state->context);
  for (int32_t i = 0; i < state->count; i++) {
    free(state->member[i].name);
    cvy_tensor_drop(state->member[i].tensor);
  }
  cvy_unlock(state->context);
  cvy_pool_drop(state->context);
  free(state->member);
  free(state);
}

/* --------------------------------------------------------------------------------- members */

static convoy_status check_name(const convoy_state *state, const char *name) {
  convoy_status status = cvy_safetensors_check_name(name);
  for (int32_t i = 0; i < state->count && !status; i++)
    if (!strcmp(state->member[i].name, name))
      status = cvy_fail(CONVOY_ERR_ARGUMENT, "\"%.200s\" is in the state already", name);
  return status;
}

static convoy_status reserve(convoy_state *state) {
  if (state->count < state->room) return CONVOY_OK;
  int32_t room = 2 * state->room + 16;
  cvy_member *grown = realloc(state->member, (size_t)room * sizeof *grown);
  if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a state");
  state->member = grown;
  state->room = room;
  return CONVOY_OK;
}

static convoy_status add(convoy_state *state, const char *name, const cvy_member *member) {
  convoy_status status = check_name(state, name);
  if (!status) status = reserve(state);
  if (status) return status;
  char *copy = strdup(name);
  if (!copy) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a name");
  state->member[state->count] = *member;
  state->member[state->count++].name = copy;
  if (member->tensor) member->tensor->references++;
  return CONVOY_OK;
}

/* `what` has been given by the caller under this word. */
static convoy_status enter(const convoy_state *state, const char *name, const char *word,
                           const void *what) {
  const cvy_pointer given[] = {{"state", state}, {"name", name}, {word, what}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : cvy_enter(state->context);
}

convoy_status convoy_state_tensor(convoy_state *state, const char *name, convoy_tensor *tensor) {
  convoy_status status = enter(state, name, "tensor", tensor);
  if (status) return status;
  status = cvy_check_owners(state->context, (const convoy_tensor *const *)&tensor, 1);
  if (!status && tensor->store->foreign)
    status =
        cvy_fail(CONVOY_ERR_UNSUPPORTED, "\"%.200s\" is wrapped memory, which is not saved", name);
  if (!status) status = add(state, name, &(cvy_member){.tensor = tensor});
  return cvy_leave(state->context, status);
}

convoy_status convoy_state_numbers(convoy_state *state, const char *name, int64_t *numbers,
                                   int64_t count) {
  convoy_status status = enter(state, name, "numbers", numbers);
  if (status) return status;
  if (count < 1)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "count is %lld, at least one number is needed",
                      (long long)count);
  if (!status) status = add(state, name, &(cvy_member){.numbers = numbers, .count = count});
  return cvy_leave(state->context, status);
}

convoy_status convoy_state_graph(convoy_state *state, const char *name, convoy_graph *graph) {
  convoy_status status = enter(state, name, "graph", graph);
  if (status) return status;
  if (graph->context != state->context)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "the graph belongs to another context");
  if (!status) status = add(state, name, &(cvy_member){.graph = graph});
  return cvy_leave(state->context, status);
}

convoy_status convoy_state_seed(convoy_state *state, const char *name) {
  convoy_status status = enter(state, name, "name", name);
  if (status) return status;
  return cvy_leave(state->context, add(state, name, &(cvy_member){.seed = true}));
}

/* ------------------------------------------------------------------------------ as in a file */

static const char *const dtypes[CONVOY_DTYPES] = {
    [CONVOY_FLOAT32] = "F32", [CONVOY_INT32] = "I32", [CONVOY_UINT8] = "U8"};

void cvy_member_describe(const cvy_member *member, cvy_saved *out) {
  const convoy_tensor *tensor = member->tensor;
  int64_t numbers = member->numbers ? member->count : CVY_MEMBER_NUMBERS;
  *out = (cvy_saved){.name = member->name};
  cvy_text_copy(out->dtype, sizeof out->dtype, tensor ? dtypes[tensor->dtype] : "I64");
  out->dims = tensor ? tensor->dims : numbers > 1;
  for (int32_t i = 0; i < out->dims; i++) out->shape[i] = tensor ? tensor->shape[i] : numbers;
  out->end = tensor ? tensor->store->bytes : numbers * (int64_t)sizeof(int64_t);
}

void cvy_member_numbers(const convoy_state *state, const cvy_member *member,
                        int64_t numbers[CVY_MEMBER_NUMBERS]) {
  const convoy_graph *graph = member->graph;
  numbers[0] = (int64_t)(graph ? graph->seed : state->context->seed);
  numbers[1] = (int64_t)(graph ? graph->runs : state->context->draws);
}
