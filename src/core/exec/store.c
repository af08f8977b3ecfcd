/* Stores: references, host memory, the list of all that are alive. */
#include "core/exec/store.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/device.h"
#include "core/exec/fetches.h"
#include "os/os.h"

/* So many stores that have gone are kept for those that come: a run of a graph makes hundreds, and
 * replaces as many. */
enum { MOST_SPARE = 2048 };

static cvy_store *take_spare(convoy_context *context) {
  cvy_store *store = context->spare;
  if (!store) return calloc(1, sizeof *store);
  context->spare = store->next;
  context->spares--;
  memset(store, 0, sizeof *store);
  return store;
}

static void give_spare(cvy_store *store) {
  convoy_context *context = store->context;
  if (context->spares == MOST_SPARE || !atomic_load(&context->open)) {
    free(store);
    return;
  }
  store->next = context->spare;
  context->spare = store;
  context->spares++;
}

void cvy_stores_trim(convoy_context *context) {
  while (context->spare) {
    cvy_store *gone = context->spare;
    context->spare = gone->next;
    free(gone);
  }
  context->spares = 0;
}

cvy_store *cvy_store_new(convoy_context *context, int64_t bytes) {
  cvy_store *store = take_spare(context);
  if (!store) {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a store of %lld bytes", (long long)bytes);
    return NULL;
  }
  store->context = context;
  store->references = 1;
  store->bytes = bytes;
  store->next = context->stores;
  if (store->next) store->next->previous = store;
  context->stores = store;
  return store;
}

cvy_store *cvy_store_room(convoy_context *context, int64_t bytes) {
  cvy_store *store = cvy_store_new(context, bytes);
  if (!store) return NULL;
  if (!cvy_values_new(store, &store->host)) return store;
  cvy_store_drop(store);
  return NULL;
}

cvy_store *cvy_store_copy(convoy_context *context, const float *values, int64_t bytes) {
  cvy_store *store = cvy_store_room(context, bytes);
  if (store) cvy_copy(store->host, values, bytes);
  return store;
}

cvy_store *cvy_store_borrow(convoy_context *context, const float *values, int64_t bytes) {
  cvy_store *store = cvy_store_new(context, bytes);
  if (!store) return NULL;
  store->host = (float *)(uintptr_t)values; /* read only: nobody writes into a published store */
  store->borrowed = true;
  return store;
}

static void own(cvy_store *store, float *copy) {
  store->borrowed = false;
  store->host = copy;
  if (copy) return;
  if (store->array)
    store->irreplaceable = true;
  else
    cvy_store_fail(store, CONVOY_ERR_MEMORY, "there was no host memory for its values");
}

/* Room for all of them first, so that they are copied in one go. */
static convoy_status copy_borrowed(convoy_context *context, cvy_copy_part *copies) {
  convoy_status status = CONVOY_OK;
  int32_t i = 0;
  for (cvy_store *each = context->stores; each; each = each->next) {
    if (!each->borrowed) continue;
    float *copy = NULL;
    if (cvy_values_new(each, &copy)) status = CONVOY_ERR_MEMORY;
    if (copy) copies[i++] = (cvy_copy_part){copy, each->host, each->bytes};
    own(each, copy);
  }
  cvy_copy_parts(copies, i, NULL, NULL);
  return status;
}

convoy_status cvy_stores_own(convoy_context *context) {
  int32_t count = 0;
  for (const cvy_store *each = context->stores; each; each = each->next) count += each->borrowed;
  if (!count) return CONVOY_OK;
  cvy_copy_part *copies = calloc((size_t)count, sizeof *copies);
  convoy_status status =
      copies ? copy_borrowed(context, copies)
             : cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a list of %d copies", (int)count);
  for (cvy_store *each = context->stores; each; each = each->next)
    if (each->borrowed) own(each, NULL); /* without the list */
  free(copies);
  return status;
}

/* What is held only to compute other stores anew, on the host or on the device. */
static int64_t only_held(const cvy_store *store) {
  bool takes_room = store->host || store->array;
  return takes_room && store->held && store->references == store->held ? store->bytes : 0;
}

static void count_again(cvy_store *store) {
  int64_t bytes = only_held(store);
  store->context->health.history_bytes += bytes - store->counted;
  store->counted = bytes;
}

static void refer(cvy_store *store, int references, int held) {
  store->references += references;
  store->held += held;
  count_again(store);
}

cvy_store *cvy_store_keep(cvy_store *store) {
  if (store) refer(store, 1, 0);
  return store;
}

/* ------------------------------------------------------------------------------------ nodes */

/* With its lists of stores behind it. */
static cvy_node *new_node(size_t size, int32_t inputs, cvy_store *const input[], int32_t outputs) {
  size_t lists = ((size_t)inputs + (size_t)outputs) * sizeof(cvy_store *);
  cvy_node *node = malloc(size + lists);
  if (!node) {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for an operation");
    return NULL;
  }
  memset(node, 0, offsetof(cvy_node, problem));
  node->references = 1;
  node->inputs = inputs;
  node->outputs = outputs;
  node->input = (cvy_store **)(void *)((char *)node + size);
  node->output = node->input + inputs;
  memset(node->output, 0, (size_t)outputs * sizeof(cvy_store *));
  for (int32_t i = 0; i < inputs; i++) {
    node->input[i] = input[i];
    refer(input[i], 1, 1);
  }
  return node;
}

/* Sizes of problems are multiples of 8, as pointers want them. */
cvy_node *cvy_node_new(const cvy_problem *problem, cvy_store *const input[]) {
  size_t size = offsetof(cvy_node, problem) + cvy_problem_size(problem);
  cvy_node *node = new_node(size, cvy_problem_reads(problem), input, cvy_problem_outputs(problem));
  if (node) cvy_problem_copy(&node->problem, problem);
  return node;
}

cvy_node *cvy_node_new_composite(const cvy_composite *what, void *plan, int32_t inputs,
                                 cvy_store *const input[], int32_t outputs) {
  cvy_node *node = new_node(offsetof(cvy_node, problem), inputs, input, outputs);
  if (!node) return NULL;
  node->composite = what;
  node->plan = plan;
  return node;
}

cvy_node *cvy_node_keep(cvy_node *node) {
  node->references++;
  return node;
}

cvy_store *cvy_node_prior(const cvy_node *node) {
  bool adds = !node->composite && node->problem.accumulate;
  return adds ? node->input[node->inputs - 1] : NULL;
}

void cvy_store_remember(cvy_store *store, cvy_node *node, int32_t i) {
  store->history = cvy_node_keep(node);
  store->output = i;
  node->output[i] = store;
}

/* ---------------------------------------------------------------------------------- lifetime */

/* The end of a node may be that of the stores it reads, and so of the nodes behind them. Their
 * chain is longer than a stack is deep: nodes that nobody refers to wait in a list. */
static void release_node(cvy_node *node, cvy_node **dying) {
  if (!node || --node->references > 0) return;
  node->next_dying = *dying;
  *dying = node;
}

static void forget_history(cvy_store *store, cvy_node **dying) {
  cvy_node *node = store->history;
  if (!node) return;
  store->history = NULL;
  store->depth = store->accumulated = 0;
  node->output[store->output] = NULL;
  release_node(node, dying);
}

static void release_store(cvy_store *store, cvy_node **dying) {
  refer(store, -1, 0);
  if (store->references > 0) {
    bool is_copy = store->host && store->references == store->held;
    if (is_copy) cvy_store_leave_device(store); /* recomputing begins on the host */
    return;
  }
  forget_history(store, dying);
  cvy_store_leave_device(store);
  if (!store->borrowed) cvy_values_drop(store, store->host);
  if (store->previous) store->previous->next = store->next;
  if (store->next) store->next->previous = store->previous;
  if (store->context->stores == store) store->context->stores = store->next;
  free(store->sentence);
  give_spare(store);
}

static void free_all(cvy_node *dying) {
  while (dying) {
    cvy_node *node = dying;
    dying = node->next_dying;
    for (int32_t i = 0; i < node->inputs; i++) {
      refer(node->input[i], 0, -1);
      release_store(node->input[i], &dying);
    }
    if (node->composite) node->composite->drop(node);
    free(node);
  }
}

void cvy_node_drop(cvy_node *node) {
  cvy_node *dying = NULL;
  release_node(node, &dying);
  free_all(dying);
}

void cvy_store_drop(cvy_store *store) {
  cvy_node *dying = NULL;
  if (store) release_store(store, &dying);
  free_all(dying);
}

static void end_history(cvy_store *store) {
  cvy_node *dying = NULL;
  forget_history(store, &dying);
  free_all(dying);
}

convoy_status cvy_values_new(const cvy_store *store, float **out) {
  *out = cvy_free_list_take(&store->context->memory, store->bytes);
  if (*out) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %lld bytes", (long long)store->bytes);
}

void cvy_values_drop(const cvy_store *store, float *values) {
  cvy_free_list_give(&store->context->memory, values, store->bytes);
}

void cvy_store_publish(cvy_store *store, float *values) {
  if (store->host)
    cvy_values_drop(store, values);
  else
    store->host = values;
  count_again(store);
  end_history(store);
}

void cvy_store_fail(cvy_store *store, convoy_status status, const char *sentence) {
  free(store->sentence);
  store->status = status;
  store->sentence = sentence ? strdup(sentence) : NULL;
}

convoy_status cvy_store_failed(const cvy_store *store) {
  return cvy_fail(store->status, "%s",
                  store->sentence ? store->sentence : "its values could not be computed");
}

bool cvy_store_is_there(const cvy_store *store) {
  return store->host || store->array || !store->history;
}

void cvy_store_place(cvy_store *store, cvy_block *block, int64_t at, uint64_t ticket) {
  block->references++;
  store->block = block;
  store->at = at;
  store->array = ++store->context->last_id;
  store->unnamed = true;
  store->ticket = ticket;
}

/* The device is gone, or knows it no more. */
static void forget_array(cvy_store *store) {
  cvy_block *block = store->block;
  store->array = 0;
  store->block = NULL;
  store->unnamed = false;
  cvy_block_drop(block);
}

void cvy_store_leave_device(cvy_store *store) {
  if (!store->array) return;
  cvy_fetch_forget(store);
  bool is_homes = store->home && store->home->array == store->array;
  if (!is_homes && !store->unnamed) cvy_device_release(store->context, store->array);
  forget_array(store);
  count_again(store);
}

void cvy_store_retire(cvy_store *store) {
  bool is_others = store->references > store->held + 1;
  if (!store->context->run_depth || is_others || store->fetch || store->tapped) return;
  if (store->history) cvy_store_leave_device(store);
}

void cvy_store_forget_device(cvy_store *store) {
  cvy_fetch_forget(store);
  forget_array(store);
}

/* The command that gave the part a number has not been carried out. */
static void forget_name(cvy_store *store) {
  if (store->unnamed) return;
  store->unnamed = true;
  store->array = ++store->context->last_id;
}

void cvy_stores_void(convoy_context *context, uint64_t first, convoy_status status,
                     const char *sentence) {
  for (cvy_store *each = context->stores; each; each = each->next) {
    if (each->block && each->named >= first) forget_name(each);
    if (!each->array || each->ticket < first || (each->foreign && first)) continue;
    cvy_store_leave_device(each);
    each->starved = status == CONVOY_ERR_MEMORY;
    bool replaceable = each->host || !each->history || context->options.failover;
    if (replaceable && !each->irreplaceable) continue;
    cvy_store_fail(each, status, sentence);
  }
}

void cvy_stores_detach(convoy_context *context) {
  /* The end of one store's history may be the end of others: none goes while the list is walked. */
  for (cvy_store *each = context->stores; each; each = each->next) {
    cvy_store_keep(each);
    end_history(each);
    cvy_store_forget_device(each);
  }
  for (cvy_store *each = context->stores, *next; each; each = next) {
    next = each->next;
    cvy_store_drop(each);
  }
}
