/* Launches ocl.program. */
#include "ocl/program.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/device.h"
#include "ocl/engine/generated_launch.h"
#include "ocl/plan.h"
#include "ocl/program_kernel.h"

static const char *const plain[] = {cvy_cl_program_words, cvy_cl_program_functions,
                                    cvy_cl_program_arrays, NULL};
static const char *const placed[] = {cvy_cl_program_words, cvy_cl_program_functions,
                                     cvy_cl_program_random, cvy_cl_program_arrays, NULL};

static convoy_status generate(cvy_device *device, const cvy_problem *problem,
                              const job_arrays *given, cvy_program_launch *planned,
                              const program_source **source) {
  int64_t offsets[CVY_BLOCK_ARRAYS];
  cvy_text text;
  generated_offsets(problem, given, offsets);
  convoy_status status = generated_begin(device, &text);
  if (!status) status = cvy_program_launch_of(&problem->program, offsets, &text, planned);
  if (status) return status;
  return generated_source(device, problem, planned->placed ? placed : plain, &text, source);
}

convoy_status run_program(cvy_device *device, const cvy_job *job, const job_arrays *given,
                          span scratch) {
  (void)scratch;
  const cvy_problem *problem = &job->problem;
  int64_t most = cvy_ocl_group_items(&device->facts);
  int64_t items = most < CVY_PROGRAM_GROUP ? most : CVY_PROGRAM_GROUP;
  cvy_program_launch planned;
  generated_arrays arrays;
  launch what = {.kernel = "program", .items = items, .work = generated_work(problem)};
  convoy_status status = generate(device, problem, given, &planned, &what.source);
  if (status) return status;
  what.options = planned.options;
  what.work_groups = cvy_ocl_ceil_div(planned.items, items);
  generated_arrays_of(problem, given, &planned.block, 0, &arrays);
  return generated_launch(device, &what, &planned.block, &arrays, 0, arrays.count);
}
