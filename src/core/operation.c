/* Public operations: are the operands what the problem says, what is computed where, and what
 * becomes of results without images. */
#include "core/operation.h"

#include <string.h>

#include "core/exec/foreign.h"
#include "core/exec/run.h"
#include "core/graph/capture.h"

/* --------------------------------------------------------------------------- host memory */

/* What is summed over no images becomes 0. */
static void zero_host(const cvy_problem *problem, float *const out[]) {
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) {
    if (cvy_problem_zeroes(problem, i))
      memset(out[i], 0, (size_t)cvy_problem_output_bytes(problem, i));
  }
}

convoy_status cvy_operate_host(convoy_context *context, const cvy_problem *problem,
                               const float *const in[], float *const out[], convoy_run *run) {
  convoy_status status = cvy_capture_refuses(context, "an operation on host memory");
  if (status) return status;
  if (cvy_problem_empty(problem))
    zero_host(problem, out);
  else
    status = cvy_perform_host(context, problem, in, out);
  if (!status && run) cvy_fill_run(context, run);
  return status;
}

/* ------------------------------------------------------------------------------- tensors */

convoy_status cvy_check_owners(const convoy_context *context, const convoy_tensor *const tensors[],
                               int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (tensors[i] && tensors[i]->context != context)
      return cvy_fail(CONVOY_ERR_ARGUMENT, "a tensor belongs to another context");
  }
  return CONVOY_OK;
}

static const char *const dtype_names[CONVOY_DTYPES] = {"float32", "int32", "uint8"};

static convoy_status check_dtype(const char *name, const convoy_tensor *tensor,
                                 convoy_dtype dtype) {
  if (tensor->dtype == dtype) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is %s, not %s", name, dtype_names[tensor->dtype],
                  dtype_names[dtype]);
}

convoy_status cvy_check_dims(const char *name, const convoy_tensor *tensor, int32_t dims) {
  convoy_status status = check_dtype(name, tensor, CONVOY_FLOAT32);
  if (status || tensor->dims == dims) return status;
  return cvy_fail(CONVOY_ERR_SHAPE, "%s has %d extents, not %d", name, (int)tensor->dims,
                  (int)dims);
}

convoy_status cvy_check_shape(const char *name, const convoy_tensor *tensor, int32_t dims,
                              const int64_t *shape) {
  convoy_status status = cvy_check_dims(name, tensor, dims);
  if (status) return status;
  for (int32_t i = 0; i < dims; i++) {
    if (tensor->shape[i] != shape[i]) {
      return cvy_fail(CONVOY_ERR_SHAPE, "extent %d of %s is %lld, not %lld", (int)i, name,
                      (long long)tensor->shape[i], (long long)shape[i]);
    }
  }
  return CONVOY_OK;
}

static convoy_status check_array(const char *name, const convoy_tensor *tensor, cvy_array array) {
  convoy_status status = check_dtype(name, tensor, array.dtype);
  if (status) return status;
  int64_t count = cvy_array_count(&array);
  if (tensor->count == count) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "%s has %lld elements, not %lld", name,
                  (long long)tensor->count, (long long)count);
}

static convoy_status check_outputs(const cvy_problem *problem, convoy_tensor *const out[]) {
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) {
    const char *name = cvy_problem_output_name(problem, i);
    convoy_status status = check_array(name, out[i], cvy_problem_output(problem, i));
    if (status) return status;
    for (int32_t j = 0; j < i; j++) {
      if (out[j] == out[i])
        return cvy_fail(CONVOY_ERR_ARGUMENT, "%s and %s are the same tensor",
                        cvy_problem_output_name(problem, j), name);
    }
  }
  return CONVOY_OK;
}

convoy_status cvy_check_operands(const cvy_problem *problem, const convoy_tensor *const in[],
                                 convoy_tensor *const out[]) {
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    const char *name = cvy_problem_input_name(problem, i);
    convoy_status status = check_array(name, in[i], cvy_problem_input(problem, i));
    if (status) return status;
  }
  return check_outputs(problem, out);
}

/* The stores of an operation's tensors: what it reads, the outputs' old ones, and new ones. */
typedef struct stores {
  cvy_store *in[CVY_MOST_READ], *old[CVY_MAX_OUTPUTS], *out[CVY_MAX_OUTPUTS];
} stores;

static void find_stores(const cvy_problem *problem, const convoy_tensor *const in[],
                        convoy_tensor *const out[], stores *all) {
  int32_t inputs = cvy_problem_inputs(problem);
  for (int32_t i = 0; i < inputs; i++) all->in[i] = in[i]->store;
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) all->old[i] = out[i]->store;
  if (problem->accumulate) all->in[inputs] = out[0]->store;
}

static void drop_new(stores *all, int32_t outputs) {
  for (int32_t i = 0; i < outputs; i++) cvy_store_drop(all->out[i]);
}

static convoy_status make_new(convoy_context *context, int32_t outputs, stores *all) {
  for (int32_t i = 0; i < outputs; i++) {
    all->out[i] = cvy_store_new(context, all->old[i]->bytes);
    if (all->out[i]) {
      all->out[i]->home = all->old[i]->foreign ? all->old[i] : NULL;
      continue;
    }
    drop_new(all, i);
    return CONVOY_ERR_MEMORY;
  }
  return CONVOY_OK;
}

static convoy_status compute(convoy_context *context, const cvy_problem *problem, const stores *all,
                             bool wait) {
  cvy_node *node = cvy_node_new(problem, all->in);
  if (!node) return CONVOY_ERR_MEMORY;
  convoy_status status = cvy_perform(context, node, all->out);
  for (int32_t i = 0; i < node->outputs && wait && !status; i++) status = cvy_settle(all->out[i]);
  cvy_node_drop(node);
  return status;
}

/* Whether any operand is foreign memory. */
static bool is_foreign(const cvy_problem *problem, const stores *all) {
  bool found = false;
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++) found |= all->in[i]->foreign;
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) found |= all->old[i]->foreign;
  return found;
}

/* All results are home and in the stream when the call returns. */
static convoy_status settle_foreign(convoy_context *context, const cvy_problem *problem,
                                    const stores *all, convoy_status status) {
  if (!is_foreign(problem, all)) return status;
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    status = cvy_foreign_land(all->out[i]);
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++) cvy_foreign_forget(all->in[i]);
  return status ? status : cvy_foreign_enqueued(context);
}

/* A tensor of foreign memory keeps its store, where the result is by now. */
static void hand_over(convoy_tensor *tensor, cvy_store *out) {
  if (out->home)
    cvy_store_drop(out);
  else
    cvy_tensor_swap(tensor, out);
}

/* The new stores have the results, or are none. */
static convoy_status operate(convoy_context *context, const cvy_problem *problem, stores *all,
                             bool wait) {
  int32_t outputs = cvy_problem_outputs(problem);
  convoy_status status = make_new(context, outputs, all);
  if (status) return status;
  status = compute(context, problem, all, wait);
  status = settle_foreign(context, problem, all, status);
  if (status) drop_new(all, outputs);
  return status;
}

/* A new store is zeros. */
static convoy_status zero_tensor(convoy_context *context, convoy_tensor *tensor) {
  if (tensor->store->foreign) {
    convoy_status status = cvy_foreign_write(tensor->store, NULL);
    return status ? status : cvy_foreign_enqueued(context);
  }
  cvy_store *zeros = cvy_store_new(context, tensor->store->bytes);
  if (!zeros) return CONVOY_ERR_MEMORY;
  cvy_tensor_swap(tensor, zeros);
  return CONVOY_OK;
}

static convoy_status zero_tensors(convoy_context *context, const cvy_problem *problem,
                                  convoy_tensor *const out[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    if (cvy_problem_zeroes(problem, i)) status = zero_tensor(context, out[i]);
  return status;
}

static convoy_status perform(convoy_context *context, const cvy_problem *problem,
                             const convoy_tensor *const in[], convoy_tensor *const out[],
                             bool wait) {
  stores all;
  if (cvy_problem_empty(problem)) return zero_tensors(context, problem, out);
  find_stores(problem, in, out, &all);
  if (cvy_may_overwrite(context, problem, all.in, all.old))
    return cvy_perform_over(context, problem, all.in, all.old);
  convoy_status status = operate(context, problem, &all, wait);
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    hand_over(out[i], all.out[i]);
  return status;
}

convoy_status cvy_operate_tensors(convoy_context *context, const cvy_problem *problem,
                                  const convoy_tensor *const in[], convoy_tensor *const out[],
                                  convoy_run *run) {
  if (context->capture) return cvy_capture_note(context, problem, in, out, run);
  convoy_status status = perform(context, problem, in, out, run != NULL);
  if (!status && run) cvy_fill_run(context, run);
  return status;
}

/* ----------------------------------------------------------------------------- addresses */

static void drop_adopted(const cvy_problem *problem, const stores *all) {
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) cvy_store_drop(all->in[i]);
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) cvy_store_drop(all->old[i]);
}

static convoy_status adopt(convoy_context *context, const cvy_problem *problem,
                           const cvy_elsewhere *at, stores *all) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < cvy_problem_inputs(problem) && !status; i++)
    status = cvy_foreign_new(context, at->in[i], cvy_problem_input_bytes(problem, i), &all->in[i]);
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    status =
        cvy_foreign_new(context, at->out[i], cvy_problem_output_bytes(problem, i), &all->old[i]);
  return status;
}

static convoy_status zero_adopted(convoy_context *context, const cvy_problem *problem,
                                  const stores *all) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    if (cvy_problem_zeroes(problem, i)) status = cvy_foreign_write(all->old[i], NULL);
  return status ? status : cvy_foreign_enqueued(context);
}

static convoy_status perform_adopted(convoy_context *context, const cvy_problem *problem,
                                     stores *all) {
  if (cvy_problem_empty(problem)) return zero_adopted(context, problem, all);
  convoy_status status = operate(context, problem, all, false);
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    cvy_store_drop(all->out[i]); /* the results are home */
  return status;
}

convoy_status cvy_operate_at(convoy_context *context, const cvy_problem *problem,
                             const cvy_elsewhere *at, convoy_run *run) {
  stores all = {{NULL}, {NULL}, {NULL}};
  convoy_status status = cvy_capture_refuses(context, "an operation on a framework's memory");
  if (status) return status;
  context->call.only_here = true;
  status = cvy_foreign_stream(context, at->stream);
  if (!status && at->scratch) status = cvy_foreign_lend(context, at->scratch, at->scratch_bytes);
  if (!status) status = adopt(context, problem, at, &all);
  if (!status) status = perform_adopted(context, problem, &all);
  drop_adopted(problem, &all);
  if (at->scratch || run) context->call.choice.workspace = cvy_foreign_take_back(context);
  if (!status && run) cvy_fill_run(context, run);
  return status;
}
