/* Carries out a job: finds its arrays and workspace and calls the algorithm's launch code. */
#include "ocl/engine/run.h"

#include <stdlib.h>

#include "ocl/engine/algorithms.h"
#include "ocl/engine/capture.h"
#include "ocl/engine/commands.h"
#include "ocl/engine/device.h"

#define LAUNCH(name) run_##name,
static launch_fn *const launches[] = {CVY_OCL_ROWS(LAUNCH)}; /* by row of the table */

#if !CONVOY_HAVE_CLBLAST
void clblast_close(void) {}
#endif

static const cvy_algorithm *algorithm_at(int32_t row) {
  return row >= 0 && row < (int32_t)CVY_COUNT(launches) ? cvy_ocl_algorithms[row] : NULL;
}

/* Whoever chose the job asked already, from the same code. Asking again costs nothing, and a wrong
 * parameter would be silent nonsense on the device. */
convoy_status job_check(const cvy_device *device, const cvy_job *job) {
  const cvy_algorithm *algorithm = algorithm_at(job->algorithm);
  const cvy_problem *problem = &job->problem;
  if (!algorithm || !cvy_algorithm_does(algorithm, problem)) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "OpenCL algorithm %d does not do %s",
                    (int)job->algorithm, cvy_operation_of(problem)->name);
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

/* An array without elements is absent: there is no device memory of 0 bytes. A result is about to
 * change, and what was prepacked of it is not; memory of somebody else may have changed. */
static convoy_status bind(cvy_device *device, cvy_operand operand, int64_t bytes, int32_t origin,
                          job_arrays *out) {
  array_entry *entry;
  if (bytes == 0) return CONVOY_OK;
  convoy_status status = find_array(device, operand.id, bytes, &entry);
  if (!status) out->origin[origin] = span_of(entry->piece, origin);
  bool changes = !status && (origin >= ORIGIN_OUT || array_is_foreign(entry));
  if (changes) prepacked_forget(device, entry);
  return status;
}

void job_sizes_of(const cvy_problem *problem, job_sizes *out) {
  out->inputs = cvy_problem_inputs(problem);
  out->outputs = cvy_problem_outputs(problem);
  for (int32_t i = 0; i < out->inputs; i++) out->in[i] = cvy_problem_input_bytes(problem, i);
  for (int32_t i = 0; i < out->outputs; i++) out->out[i] = cvy_problem_output_bytes(problem, i);
}

static convoy_status bind_all(cvy_device *device, const cvy_job *job, const job_sizes *sizes,
                              job_arrays *out) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < sizes->inputs && !status; i++)
    status = bind(device, job->in[i], sizes->in[i], ORIGIN_IN + i, out);
  for (int32_t i = 0; i < sizes->outputs && !status; i++)
    status = bind(device, job->out[i], sizes->out[i], ORIGIN_OUT + i, out);
  return status;
}

static convoy_status launch_and_capture(cvy_device *device, const cvy_job *job,
                                        const job_sizes *sizes, const job_arrays *arrays,
                                        int64_t scratch_bytes, captured_job **captured) {
  capture new;
  capture_begin(device, &new, job, sizes, arrays, scratch_bytes);
  convoy_status status = launches[job->algorithm](device, job, arrays, arrays->scratch);
  if (capture_end(device) && !status) *captured = captured_copy(&new.job);
  return status;
}

static int64_t scratch_of(const cvy_device *device, const cvy_job *job) {
  const cvy_algorithm *algorithm = algorithm_at(job->algorithm);
  if (!algorithm->workspace) return 0;
  return algorithm->workspace(&job->problem, &device->facts, &job->params);
}

/* The workspace goes back as soon as its last user is enqueued: the queue is in order. */
convoy_status job_launch(cvy_device *device, const cvy_job *job, const captured_job *known,
                         const job_sizes *sizes, job_arrays *arrays, captured_job **captured) {
  arena_piece *piece = NULL;
  int64_t bytes = known ? known->scratch_bytes : scratch_of(device, job);
  *captured = NULL;
  convoy_status status = bytes > 0 ? memory_take_briefly(device, bytes, &piece) : CONVOY_OK;
  if (status) return status;
  if (piece) arrays->scratch = span_of(piece, ORIGIN_SCRATCH);
  if (!known || !captured_replay(device, known, job, arrays, &status))
    status = launch_and_capture(device, job, sizes, arrays, bytes, captured);
  memory_give(device, piece);
  return status;
}

static convoy_status run_empty(cvy_device *device, const cvy_job *job) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < cvy_problem_outputs(&job->problem) && !status; i++) {
    job_arrays arrays = {0};
    if (!cvy_problem_zeroes(&job->problem, i)) continue;
    int64_t bytes = cvy_problem_output_bytes(&job->problem, i);
    status = bind(device, job->out[i], bytes, ORIGIN_OUT + i, &arrays);
    if (!status) status = fill_zero(device, arrays.out[i], bytes);
  }
  return status;
}

/* In a stream of somebody else's nothing may lie that he did not put there but what he asked for,
 * and nobody looks how far it is. So what is to be known of kernels is learnt in a job's first run,
 * which is waited for. */
static convoy_status learn(cvy_device *device, convoy_status status) {
  device->completion.learning = false;
  return status ? status : completion_wait(device, UINT64_MAX);
}

convoy_status engine_run(cvy_device *device, const cvy_command *command) {
  const cvy_job *job = command->job;
  if (cvy_problem_empty(&job->problem)) return run_empty(device, job);
  const captured_job *known = captured_find(device, job);
  bool is_first = device->stream_is_lent && !captured_has_come(device, job);
  convoy_status status = known ? CONVOY_OK : job_check(device, job);
  job_sizes sizes;
  if (known)
    sizes = known->sizes;
  else
    job_sizes_of(&job->problem, &sizes);
  job_arrays arrays = {0};
  captured_job *captured = NULL;
  if (!status) status = bind_all(device, job, &sizes, &arrays);
  device->completion.learning = is_first;
  if (!status) status = job_launch(device, job, known, &sizes, &arrays, &captured);
  if (!status && (captured || !known)) captured_keep(device, job, captured);
  if (is_first) status = learn(device, status);
  if (!status) flush_burst(device);
  return status;
}

/* In a dry run the launch code says which programs it needs, and nothing else happens. */
static convoy_status run_dry(cvy_device *device, const cvy_job *job, bool for_others) {
  if (cvy_problem_empty(&job->problem)) return CONVOY_OK;
  convoy_status status = job_check(device, job);
  if (status) return status;
  device->programs.dry_run = true;
  device->programs.for_others = for_others;
  status = launches[job->algorithm](device, job, &(job_arrays){0}, (span){0});
  device->programs.dry_run = false;
  return status;
}

/* A compiler cannot be interrupted: the lane ends its process instead. */
convoy_status engine_build(cvy_device *device, const cvy_command *command) {
  return run_dry(device, command->job, true);
}

/* Zeros in the place of a job's arrays. */
typedef struct stand_ins {
  job_arrays arrays;
  arena_piece *piece[ORIGINS];
} stand_ins;

static convoy_status stand_in(cvy_device *device, int32_t origin, int64_t bytes, stand_ins *out) {
  if (bytes == 0) return CONVOY_OK;
  convoy_status status = memory_take(device, bytes, &out->piece[origin]);
  if (status) return status;
  out->arrays.origin[origin] = span_of(out->piece[origin], origin);
  return fill_zero(device, out->arrays.origin[origin], bytes);
}

static convoy_status launch_on(cvy_device *device, const cvy_job *job, stand_ins *with) {
  job_sizes sizes;
  captured_job *captured = NULL;
  prepacked_slot slot = {0};
  convoy_status status = CONVOY_OK;
  job_sizes_of(&job->problem, &sizes);
  for (int32_t i = 0; i < sizes.inputs && !status; i++)
    status = stand_in(device, ORIGIN_IN + i, sizes.in[i], with);
  for (int32_t i = 0; i < sizes.outputs && !status; i++)
    status = stand_in(device, ORIGIN_OUT + i, sizes.out[i], with);
  if (status) return status;
  device->prepacked.slot = &slot;
  status = job_launch(device, job, NULL, &sizes, &with->arrays, &captured);
  device->prepacked.slot = NULL;
  prepacked_slot_drop(device, &slot);
  free(captured);
  return status;
}

/* Drivers of processors compile a kernel for good when it is first launched. Of cards nothing is
 * launched that the in-use marker does not name. */
static void launch_once(cvy_device *device, const cvy_job *job) {
  stand_ins with = {0};
  bool due = device->facts.info.type == CONVOY_DEVICE_CPU && !cvy_problem_empty(&job->problem);
  if (!due || device->fault.ticket) return;
  launch_on(device, job, &with);
  device->runtime->finish(device->queue);
  for (size_t i = 0; i < CVY_COUNT(with.piece); i++) memory_give(device, with.piece[i]);
}

convoy_status engine_prepare(cvy_device *device, const cvy_command *command) {
  convoy_status status = run_dry(device, command->job, false);
  if (!status && command->prepare.launches) launch_once(device, command->job);
  return status;
}
