/* A kernel into the queue: its arguments, and its work-groups in parts that do not take long. */
#include "ocl/engine/launch.h"

#include "ocl/engine/capture.h"
#include "ocl/engine/device.h"
#include "ocl/plan.h"

/* A launch is cut into so many parts at most. */
#define MOST_PARTS 256

/* A kernel never reads an absent array, but not every driver takes NULL: it gets the last one. */
static cl_int set_arrays(cl_kernel kernel, const arguments *with, bool wide) {
  cl_mem last = with->array[with->count - 1].at.memory;
  cl_int code = CL_SUCCESS;
  for (int32_t i = 0; i < with->count && code == CL_SUCCESS; i++) {
    const launch_array *array = &with->array[i];
    const cl_mem *memory = array->at.memory ? &array->at.memory : &last;
    block_put(with->block, wide, array->word,
              array->at.at * (int64_t)sizeof(float) >> array->shift);
    code = opencl_argument(kernel, (cl_uint)i + 1, sizeof *memory, memory);
  }
  return code;
}

/* The next `groups` work-groups from `first` on. */
static cl_int enqueue_part(cvy_device *device, const launch *what, program_kernel *kernel,
                           const arguments *with, int64_t first, int64_t groups) {
  cl_event done;
  double work = what->work * (double)groups / (double)what->work_groups;
  bool watched = completion_due(device, work / kernel->rate);
  size_t bytes = (size_t)with->words * (what->wide ? sizeof(int64_t) : sizeof(int32_t));
  block_put(with->block, what->wide, with->first_group, first);
  cl_int code = opencl_argument(kernel->kernel, 0, bytes, with->block);
  if (code == CL_SUCCESS) {
    code =
        opencl_launch(&device->queue, kernel->kernel, groups, what->items, watched ? &done : NULL);
  }
  if (code == CL_SUCCESS && watched) completion_add(device, done, work, &kernel->rate);
  return code;
}

/* Work-groups that take about device->longest_launch seconds together. */
static int64_t groups_at_once(const cvy_device *device, const launch *what, double rate) {
  double parts = what->work / (rate * device->longest_launch);
  if (!(parts > 1)) return what->work_groups;
  int64_t whole = parts < MOST_PARTS ? (int64_t)parts + 1 : MOST_PARTS;
  return cvy_ocl_ceil_div(what->work_groups, whole);
}

convoy_status launch_found(cvy_device *device, const launch *what, program_kernel *kernel,
                           const arguments *with) {
  cl_int code = set_arrays(kernel->kernel, with, what->wide);
  int64_t most = groups_at_once(device, what, kernel->rate);
  for (int64_t first = 0; code == CL_SUCCESS && first < what->work_groups; first += most) {
    int64_t left = what->work_groups - first;
    code = enqueue_part(device, what, kernel, with, first, left < most ? left : most);
  }
  return code == CL_SUCCESS ? CONVOY_OK : opencl_fail(code, what->kernel);
}

convoy_status launch_kernel(cvy_device *device, const launch *what, const arguments *with) {
  program_kernel *kernel;
  if (device->programs.dry_run) return prepare_program(device, what->source, what->options);
  convoy_status status = find_kernel(device, what->source, what->options, what->kernel, &kernel);
  if (status) return status;
  capture_launch(device, what, kernel, with);
  return launch_found(device, what, kernel, with);
}
