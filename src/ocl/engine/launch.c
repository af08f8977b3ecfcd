/* A kernel into the queue: its arguments, and its work-groups in parts that do not take long. */
#include "ocl/engine/launch.h"

#include "ocl/engine/capture.h"
#include "ocl/engine/device.h"
#include "ocl/plan.h"

/* A launch is cut into so many parts at most. */
#define MOST_PARTS 256

static void put_begin(const arguments *with, const launch_array *array, bool wide) {
  const int64_t unit = INT64_C(1) << array->shift, floats = unit / (int64_t)sizeof(float);
  block_put(with->block, wide, array->word, array->at.at * (int64_t)sizeof(float) / unit);
  if (floats > 1) block_put(with->block, wide, array->word + 1, array->at.at % floats);
}

/* A kernel never reads an absent array, but not every driver takes NULL: it gets the last one. */
static int32_t set_arrays(const runtime *calls, runtime_kernel *kernel, const arguments *with,
                          bool wide) {
  runtime_memory *last = with->array[with->count - 1].at.memory;
  int32_t code = 0;
  for (int32_t i = 0; i < with->count && !code; i++) {
    const launch_array *array = &with->array[i];
    runtime_memory *const *memory = array->at.memory ? &array->at.memory : &last;
    put_begin(with, array, wide);
    code = calls->argument(kernel, i + 1, sizeof *memory, memory);
  }
  return code;
}

/* The next `groups` work-groups from `first` on. */
static int32_t enqueue_part(cvy_device *device, const launch *what, program_kernel *kernel,
                            const arguments *with, int64_t first, int64_t groups) {
  const runtime *calls = device->runtime;
  runtime_event *done;
  double work = what->work * (double)groups / (double)what->work_groups;
  bool watched = completion_due(device, work / kernel->rate);
  size_t bytes = (size_t)with->words * (what->wide ? sizeof(int64_t) : sizeof(int32_t));
  block_put(with->block, what->wide, with->first_group, first);
  int32_t code = calls->argument(kernel->kernel, 0, bytes, with->block);
  if (!code) {
    code =
        calls->launch(device->queue, kernel->kernel, groups, what->items, watched ? &done : NULL);
  }
  if (!code && watched) completion_add(device, done, work, &kernel->rate);
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
  int32_t code = set_arrays(device->runtime, kernel->kernel, with, what->wide);
  int64_t most = groups_at_once(device, what, kernel->rate);
  for (int64_t first = 0; !code && first < what->work_groups; first += most) {
    int64_t left = what->work_groups - first;
    code = enqueue_part(device, what, kernel, with, first, left < most ? left : most);
  }
  return code ? device->runtime->fail(code, what->kernel) : CONVOY_OK;
}

convoy_status launch_kernel(cvy_device *device, const launch *what, const arguments *with) {
  program_kernel *kernel;
  if (device->programs.dry_run) return prepare_program(device, what->source, what->options);
  if (what->work_groups < 1)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "kernel %s: %lld work-groups would leave its results as "
                    "they are",
                    what->kernel, (long long)what->work_groups);
  convoy_status status = find_kernel(device, what->source, what->options, what->kernel, &kernel);
  if (status) return status;
  capture_launch(device, what, kernel, with);
  return launch_found(device, what, kernel, with);
}
