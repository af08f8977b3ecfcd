/* Launches ocl.reduce: a kernel that reduces pieces, and one that puts them together. */
#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/device.h"
#include "ocl/engine/generated_launch.h"
#include "ocl/reduce_kernel.h"

static const char *const plain[] = {cvy_cl_program_words,  cvy_cl_program_functions,
                                    cvy_cl_program_arrays, cvy_cl_reduce_functions,
                                    cvy_cl_program_reduce, NULL};
static const char *const placed[] = {cvy_cl_program_words,
                                     cvy_cl_program_functions,
                                     cvy_cl_program_random,
                                     cvy_cl_program_arrays,
                                     cvy_cl_reduce_functions,
                                     cvy_cl_program_reduce,
                                     NULL};

static convoy_status generate(cvy_device *device, const cvy_problem *problem,
                              const job_arrays *given, cvy_reduce_launch *planned,
                              const program_source **source) {
  int64_t offsets[CVY_BLOCK_ARRAYS];
  cvy_text text;
  generated_offsets(problem, given, offsets);
  convoy_status status = generated_begin(device, &text);
  if (!status) status = cvy_reduce_launch_of(&problem->reduce, offsets, &text, planned);
  if (status) return status;
  return generated_source(device, problem, planned->placed ? placed : plain, &text, source);
}

/* Partial results to results. */
static convoy_status combine(cvy_device *device, const cvy_reduce_launch *planned,
                             const program_source *source, const generated_arrays *arrays) {
  launch what = {.source = source,
                 .options = planned->options,
                 .kernel = "combine",
                 .work_groups = planned->combined / CVY_REDUCE_COMBINE,
                 .items = CVY_REDUCE_COMBINE,
                 .work = MOVED_WORK * (double)planned->partial};
  return generated_launch(device, &what, &planned->block, arrays, arrays->results - 1,
                          arrays->count);
}

convoy_status run_reduce(cvy_device *device, const cvy_job *job, const job_arrays *given,
                         span scratch) {
  (void)scratch;
  const cvy_problem *problem = &job->problem;
  cvy_reduce_launch planned;
  generated_arrays arrays;
  launch what = {.kernel = "reduce", .work = generated_work(problem)};
  convoy_status status = generate(device, problem, given, &planned, &what.source);
  if (status) return status;
  what.options = planned.options;
  what.items = planned.group;
  what.work_groups = planned.items / planned.group;
  generated_arrays_of(problem, given, &planned.block, planned.partial, &arrays);
  int32_t end = planned.combined ? arrays.results : arrays.count;
  status = generated_launch(device, &what, &planned.block, &arrays, 0, end);
  if (status || !planned.combined) return status;
  return combine(device, &planned, what.source, &arrays);
}
