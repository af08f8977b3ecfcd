/* Public functions on a framework's memory: check pointers, put operands in the order of the
 * problem, call core. */
#include <stdlib.h>

#include "api_check.h"
#include "core/exec/foreign.h"
#include "core/graph/capture.h"
#include "core/operation.h"
#include "problem/conv/conv.h"

static uint64_t address_of(const void *at) {
  return (uint64_t)(uintptr_t)at;
}

convoy_status convoy_tensor_wrap(convoy_context *context, convoy_dtype dtype, int32_t dims,
                                 const int64_t *shape, void *memory, int64_t bytes,
                                 convoy_tensor **out) {
  const cvy_pointer given[] = {{"shape", shape}, {"out", out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_enter(context);
  if (status) return status;
  status = cvy_tensor_wrap(context, dtype, dims, shape, address_of(memory), bytes, out);
  return cvy_leave(context, status);
}

convoy_status convoy_tensors_rewrap(int32_t count, convoy_tensor *const tensors[],
                                    void *const memory[]) {
  const cvy_pointer given[] = {{"tensors", tensors}, {"memory", memory}};
  if (count < 1)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "count is %d, at least one tensor is needed", (int)count);
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  for (int32_t i = 0; i < count && !status; i++)
    status = cvy_check_pointers(&(cvy_pointer){"a tensor in tensors", tensors[i]}, 1);
  if (status) return status;
  convoy_context *context = tensors[0]->context;
  status = cvy_enter(context);
  if (status) return status;
  status = cvy_capture_refuses(context, "convoy_tensors_rewrap");
  if (!status) status = cvy_tensors_rewrap(context, count, tensors, memory);
  return cvy_leave(context, status);
}

convoy_status convoy_set_stream(convoy_context *context, void *stream) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, cvy_foreign_stream(context, address_of(stream)));
}

convoy_status convoy_set_allocator(convoy_context *context, convoy_allocate_fn *allocate,
                                   convoy_release_fn *release, void *user) {
  const cvy_allocator allocator = {allocate, release, user};
  if (!allocate != !release)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is NULL, but %s is not",
                    allocate ? "release" : "allocate", allocate ? "allocate" : "release");
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_foreign_allocator(context, &allocator));
}

/* --------------------------------------------------------------------------------- problems */

struct convoy_problem {
  bool swapped; /* the first two operands are the problem's the other way round */
  cvy_problem problem;
};

convoy_status convoy_problem_new(const convoy_conv *conv, convoy_direction direction,
                                 const int64_t *x_shape, const int64_t *w_shape, int32_t with_bias,
                                 convoy_problem **out) {
  const cvy_pointer given[] = {
      {"conv", conv}, {"x_shape", x_shape}, {"w_shape", w_shape}, {"out", out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (status) return status;
  bool biased = with_bias && direction == CONVOY_FORWARD;
  convoy_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a problem");
  status = cvy_conv_make(conv, direction, x_shape, w_shape, 0.0f, biased, NULL, &problem->problem);
  problem->swapped = conv->transposed && direction == CONVOY_BACKWARD_WEIGHTS;
  if (status)
    free(problem);
  else
    *out = problem;
  return status;
}

void convoy_problem_free(convoy_problem *problem) {
  free(problem);
}

static convoy_status check_arrays(const convoy_problem *problem, void *const arrays[]) {
  int32_t inputs = cvy_problem_inputs(&problem->problem);
  for (int32_t i = 0; i <= inputs; i++) {
    if (!arrays[i] && !cvy_problem_empty(&problem->problem))
      return cvy_fail(CONVOY_ERR_ARGUMENT, "arrays[%d] is NULL", (int)i);
  }
  return CONVOY_OK;
}

convoy_status convoy_enqueue(convoy_context *context, const convoy_problem *problem, void *stream,
                             void *const arrays[], void *scratch, int64_t scratch_bytes,
                             convoy_run *run) {
  const cvy_pointer given[] = {{"problem", problem}, {"arrays", arrays}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("run", run, sizeof(*run), true);
  if (!status) status = check_arrays(problem, arrays);
  if (!status && scratch_bytes < 0)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "scratch_bytes is %lld", (long long)scratch_bytes);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  int32_t inputs = cvy_problem_inputs(&problem->problem);
  cvy_elsewhere at = {.stream = address_of(stream),
                      .out = {address_of(arrays[inputs])},
                      .scratch = address_of(scratch),
                      .scratch_bytes = scratch_bytes};
  for (int32_t i = 0; i < inputs; i++)
    at.in[i] = address_of(arrays[problem->swapped && i < 2 ? !i : i]);
  return cvy_leave(context, cvy_operate_at(context, &problem->problem, &at, run));
}
