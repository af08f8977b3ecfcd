/* Measures what the device can do at best, with two small kernels and the host's clock. */
#include "ocl/engine/peak.h"

#include "cl/sources.h"
#include "ocl/engine/commands.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"
#include "os/os.h"

static const program_source source = {
    "peak.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_peak, NULL}};

#define CHAINS 8
#define ENOUGH_SECONDS 0.2
#define COPY_BYTES (INT64_C(256) << 20)

/* The least seconds of one launch. It is launched again until ENOUGH_SECONDS have passed, three
 * times at least; the first launch, for which the program is compiled, does not count. */
static convoy_status time_launch(cvy_device *device, const launch *what, const conv_args *args,
                                 const bindings *arrays, double *seconds) {
  double least = 0, total = 0;
  for (int i = 0; i < 4 || total < ENOUGH_SECONDS; i++) {
    double start = cvy_clock();
    convoy_status status = launch_conv(device, what, args, arrays);
    if (status) return status;
    int32_t code = device->runtime->finish(device->queue);
    if (code) return device->runtime->fail(code, what->kernel);
    completion_drop(device);
    observer_progress(device);
    double took = cvy_clock() - start;
    if (i == 0) continue;
    total += took;
    if (i == 1 || took < least) least = took;
  }
  *seconds = least;
  return CONVOY_OK;
}

/* Multiplies the rounds until one launch takes long enough for its start not to count. */
static convoy_status peak_multiply_add(cvy_device *device, launch *what, const bindings *arrays,
                                       double *gflops) {
  what->kernel = "peak_multiply_add";
  what->work_groups = 64 * (int64_t)device->facts.info.compute_units;
  double seconds = 0;
  conv_args args = {.items = 64};
  for (; args.items < 1 << 24; args.items *= 4) {
    convoy_status status = time_launch(device, what, &args, arrays, &seconds);
    if (status) return status;
    if (seconds > 0.01) break;
  }
  double flops = 2.0 * 4 * CHAINS * (double)args.items * (double)what->items;
  *gflops = flops * (double)what->work_groups / seconds * 1e-9;
  return CONVOY_OK;
}

static convoy_status peak_copy(cvy_device *device, launch *what, const bindings *arrays,
                               int64_t bytes, double *gigabytes) {
  what->kernel = "peak_copy";
  conv_args args = {.items = bytes / 16};
  what->work_groups = cvy_ocl_ceil_div(args.items, what->items);
  double seconds = 0;
  convoy_status status = time_launch(device, what, &args, arrays, &seconds);
  if (!status) *gigabytes = 2.0 * (double)bytes / seconds * 1e-9;
  return status;
}

static convoy_status measure(cvy_device *device, const bindings *arrays, int64_t bytes,
                             cvy_reply *out) {
  launch what = {.source = &source, .items = cvy_ocl_group_items(&device->facts)};
  char options[64];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld -D CHAINS=%d", (long long)what.items, CHAINS);
  what.options = options;
  convoy_status status = fill_zero(device, arrays->a, bytes);
  if (!status) status = peak_multiply_add(device, &what, arrays, &out->gflops);
  if (!status) status = peak_copy(device, &what, arrays, bytes, &out->gigabytes);
  return status;
}

convoy_status engine_peak(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  cvy_arena *arena = device->memory.arena;
  int64_t bytes = COPY_BYTES;
  (void)command;
  while (bytes > device->facts.max_allocation_bytes || bytes > device->facts.info.memory_bytes / 8)
    bytes /= 2;
  arena_piece *from = NULL, *to = NULL;
  convoy_status status = arena_take(arena, bytes, &from);
  if (!status) status = arena_take(arena, bytes, &to);
  if (!status) {
    bindings arrays = {.a = span_of(from, ORIGIN_NONE), .out = span_of(to, ORIGIN_NONE)};
    status = measure(device, &arrays, bytes, reply);
  }
  arena_give(arena, to);
  arena_give(arena, from);
  return status;
}
