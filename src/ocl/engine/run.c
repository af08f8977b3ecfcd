/* Carries out a job: finds its arrays and workspace and calls the algorithm's launch code. */
#include "ocl/engine/run.h"

#include "base/build_config.h"
#include "ocl/depthwise.h"
#include "ocl/direct.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/capture.h"
#include "ocl/engine/commands.h"
#include "ocl/engine/device.h"
#include "ocl/few_channels.h"
#include "ocl/im2col_clblast.h"
#include "ocl/implicit_gemm.h"
#include "ocl/long_rows.h"
#include "ocl/strided_data.h"
#include "ocl/winograd.h"
#include "problem/conv/conv.h"

/* Launch code by algorithm, not by row: the order is the table's business alone. */
static const struct {
  const cvy_algorithm *algorithm;
  launch_fn *run;
} launches[] = {
    {&cvy_ocl_depthwise, run_depthwise},
    {&cvy_ocl_long_rows, run_long_rows},
    {&cvy_ocl_few_channels, run_few_channels},
    {&cvy_ocl_strided_data, run_strided_data},
    {&cvy_ocl_winograd, run_winograd},
    {&cvy_ocl_implicit_gemm, run_implicit_gemm},
#if CONVOY_HAVE_CLBLAST
    {&cvy_ocl_im2col_clblast, run_im2col_clblast},
#endif
    {&cvy_ocl_direct, run_direct},
};

#if !CONVOY_HAVE_CLBLAST
void clblast_close(void) {}
#endif

static const cvy_algorithm *algorithm_at(int32_t row) {
  for (int32_t i = 0; cvy_ocl_algorithms[i]; i++)
    if (i == row) return cvy_ocl_algorithms[i];
  return NULL;
}

/* Whoever chose the job asked already, from the same code. Asking again costs nothing, and a wrong
 * parameter would be silent nonsense on the device. */
static convoy_status check(const cvy_device *device, const cvy_job *job,
                           const cvy_algorithm *algorithm) {
  const cvy_problem *problem = &job->problem;
  if (!algorithm || problem->operation < 0 || problem->operation >= CONVOY_DIRECTIONS ||
      !(algorithm->directions & 1u << problem->operation)) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "OpenCL algorithm %d has no direction %d",
                    (int)job->algorithm, (int)problem->operation);
  }
  char buffer[192];
  cvy_text reason = cvy_text_in(buffer, sizeof buffer);
  if (algorithm->accepts && !algorithm->accepts(problem, &device->facts, &reason))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s: %s", algorithm->name, buffer);
  if (algorithm->valid && !algorithm->valid(&job->params, problem, &device->facts)) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s: these parameters cannot run here",
                    algorithm->name);
  }
  return CONVOY_OK;
}

static convoy_status bind(cvy_device *device, const cvy_problem *problem, cvy_conv_array array,
                          cvy_operand operand, span *out) {
  array_entry *entry;
  int64_t bytes = cvy_conv_count(problem, array) * (int64_t)sizeof(float);
  convoy_status status = find_array(device, operand.id, bytes, &entry);
  if (!status) *out = span_of(entry->piece);
  return status;
}

/* The result is about to change, and what was prepacked of it is not. */
static void forget_result(cvy_device *device, const cvy_job *job) {
  prepacked_forget(device, arrays_find(&device->memory.arrays, job->out.id));
}

static convoy_status bind_all(cvy_device *device, const cvy_job *job, bindings *out) {
  const cvy_problem *problem = &job->problem;
  cvy_conv_operands operands = cvy_conv_operands_of(problem);
  convoy_status status = bind(device, problem, operands.a, job->a, &out->a);
  if (!status && operands.has_b) status = bind(device, problem, operands.b, job->b, &out->b);
  if (!status && problem->conv.has_bias)
    status = bind(device, problem, CVY_BIAS, job->bias, &out->bias);
  if (!status) status = bind(device, problem, operands.out, job->out, &out->out);
  if (!status) forget_result(device, job);
  return status;
}

static convoy_status launch_job(cvy_device *device, const cvy_job *job,
                                const cvy_algorithm *algorithm, const bindings *arrays,
                                span scratch) {
  for (size_t i = 0; i < CVY_COUNT(launches); i++)
    if (launches[i].algorithm == algorithm) return launches[i].run(device, job, arrays, scratch);
  return CONVOY_ERR_UNSUPPORTED;
}

static convoy_status launch_and_capture(cvy_device *device, const cvy_job *job,
                                        const bindings *arrays, const arena_piece *piece) {
  capture new;
  capture_begin(device, &new, job, arrays, piece);
  convoy_status status = launch_job(device, job, algorithm_at(job->algorithm), arrays,
                                    piece ? span_of(piece) : (span){NULL, 0});
  if (capture_end(device) && !status) captured_keep(device, job, &new.job);
  return status;
}

static int64_t scratch_of(const cvy_device *device, const cvy_job *job) {
  const cvy_algorithm *algorithm = algorithm_at(job->algorithm);
  if (!algorithm->workspace) return 0;
  return algorithm->workspace(&job->problem, &device->facts, &job->params);
}

/* The workspace goes back as soon as its last user is enqueued: the queue is in order. */
static convoy_status run_with_scratch(cvy_device *device, const cvy_job *job,
                                      const captured_job *known, const bindings *arrays) {
  arena_piece *piece = NULL;
  int64_t bytes = known ? known->scratch_bytes : scratch_of(device, job);
  convoy_status status = bytes > 0 ? memory_take(device, bytes, &piece) : CONVOY_OK;
  if (status) return status;
  span scratch = piece ? span_of(piece) : (span){NULL, 0};
  if (!known || !captured_replay(device, known, job, arrays, scratch, &status))
    status = launch_and_capture(device, job, arrays, piece);
  arena_give(device->memory.arena, piece);
  return status;
}

/* Without images there is nothing to sum: gradients of weights and bias are zero or stay. */
static convoy_status run_empty(cvy_device *device, const cvy_job *job) {
  cvy_conv_array out = cvy_conv_operands_of(&job->problem).out;
  int64_t count = cvy_conv_count(&job->problem, out);
  if (job->problem.accumulate || count == 0) return CONVOY_OK;
  span at;
  convoy_status status = bind(device, &job->problem, out, job->out, &at);
  if (status) return status;
  forget_result(device, job);
  return fill_zero(device, at, count * (int64_t)sizeof(float));
}

static convoy_status run(cvy_device *device, const cvy_job *job) {
  if (job->problem.conv.n == 0) return run_empty(device, job);
  const captured_job *known = captured_find(device, job);
  convoy_status status = known ? CONVOY_OK : check(device, job, algorithm_at(job->algorithm));
  bindings arrays = {0};
  if (!status) status = bind_all(device, job, &arrays);
  if (!status) status = run_with_scratch(device, job, known, &arrays);
  if (!status) flush_burst(device);
  return status;
}

convoy_status engine_run(cvy_device *device, const cvy_job *job, uint64_t *ticket) {
  convoy_status status = command_begin(device, ticket);
  return status ? status : command_end(device, run(device, job));
}

/* In a dry run the launch code says which programs it needs, and nothing else happens. A compiler
 * cannot be interrupted: the lane ends its process instead. */
convoy_status engine_build(cvy_device *device, const cvy_job *job, const volatile int *interrupt) {
  (void)interrupt;
  if (job->problem.conv.n == 0) return CONVOY_OK;
  const cvy_algorithm *algorithm = algorithm_at(job->algorithm);
  convoy_status status = check(device, job, algorithm);
  if (status) return status;
  device->programs.dry_run = true;
  status = launch_job(device, job, algorithm, &(bindings){0}, (span){NULL, 0});
  device->programs.dry_run = false;
  return status;
}
