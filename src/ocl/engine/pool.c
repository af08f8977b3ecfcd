/* Launches ocl.pool. */
#include "ocl/pool.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "problem/pooling/pooling.h"

static const program_source source = {
    "pool.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_pool, NULL}};

/* Windows are compiled in: their loops are short, and divisions by strides dear. */
static void write_options(const cvy_pooling_problem *p, bool wide, int64_t items, cvy_text *text) {
  static const char *const names[] = {"Z", "H", "W"};
  cvy_text_add(text, "-D WIDE=%d -D WG=%lld -D COUNT_PADDING=%d", wide, (long long)items,
               (int)p->count_padding);
  for (int axis = 0; axis < 3; axis++) {
    cvy_text_add(text, " -D TAPS_%s=%lld -D STRIDE_%s=%lld -D DILATION_%s=%lld", names[axis],
                 (long long)p->window[axis], names[axis], (long long)p->stride[axis], names[axis],
                 (long long)p->dilation[axis]);
  }
}

/* Elements from image to image of what a launch reads, and of what it writes. */
typedef struct pool_pitches {
  int64_t a, out;
} pool_pitches;

/* Padding at the end is in words that kernels of convolutions have for their extents. */
static conv_args arguments_of(const cvy_problem *problem, int64_t items, pool_pitches pitches) {
  const cvy_pooling_problem *p = &problem->pooling;
  return (conv_args){
      .accumulate = problem->accumulate,
      .a_pitch = pitches.a,
      .out_pitch = pitches.out,
      .n = p->n,
      .c = p->c,
      .iz = p->in[0],
      .ih = p->in[1],
      .iw = p->in[2],
      .oz = p->out[0],
      .oh = p->out[1],
      .ow = p->out[2],
      .pz = p->pad[0],
      .ph = p->pad[1],
      .pw = p->pad[2],
      .rows = p->pad_end[0],
      .depth = p->pad_end[1],
      .columns = p->pad_end[2],
      .items = items,
  };
}

/* What an item does for each tap, in operations of a slow card. */
#define TAP_WORK 8.0

static convoy_status launch_pool(cvy_device *device, const cvy_problem *problem, const char *kernel,
                                 int64_t items, pool_pitches pitches, const bindings *arrays) {
  const cvy_pooling_problem *p = &problem->pooling;
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  bool wide = cvy_ocl_pool_is_wide(problem);
  write_options(p, wide, cvy_ocl_group_items(&device->facts), &text);
  conv_args args = arguments_of(problem, items, pitches);
  launch what = {
      .source = &source,
      .options = options,
      .kernel = kernel,
      .wide = wide,
      .work = (double)items * (MOVED_WORK + TAP_WORK * (double)cvy_pooling_taps(problem)),
  };
  args.items_per_row = cvy_ocl_pool_cells(problem);
  return launch_elements(device, &what, &args, arrays);
}

/* Places are scratch memory. */
static convoy_status run_max_backward(cvy_device *device, const cvy_problem *problem,
                                      const job_arrays *given, span places) {
  int64_t windows = cvy_ocl_pool_outputs(problem), row = problem->pooling.in[2];
  int64_t cells = row ? cvy_ocl_pool_inputs(problem) / row * cvy_ocl_pool_cells(problem) : 0;
  int64_t x = cvy_pooling_x_pitch(problem), dx = cvy_pooling_dx_pitch(problem),
          dy = cvy_pooling_y_pitch(problem);
  const bindings first = {.a = given->in[0], .out = places};
  const bindings second = {.a = given->in[1], .b = places, .out = given->out[0]};
  convoy_status status =
      launch_pool(device, problem, "max_pool_places", windows, (pool_pitches){.a = x}, &first);
  if (status) return status;
  return launch_pool(device, problem, "max_pool_backward", cells, (pool_pitches){dy, dx}, &second);
}

convoy_status run_pool(cvy_device *device, const cvy_job *job, const job_arrays *given,
                       span scratch) {
  const cvy_problem *problem = &job->problem;
  const bindings arrays = {.a = given->in[0], .out = given->out[0]};
  int64_t x = cvy_pooling_x_pitch(problem), dx = cvy_pooling_dx_pitch(problem),
          y = cvy_pooling_y_pitch(problem);
  if (problem->operation == CVY_POOLING_MAX_BACKWARD)
    return run_max_backward(device, problem, given, scratch);
  if (problem->operation == CVY_POOLING_AVERAGE_BACKWARD)
    return launch_pool(device, problem, "average_pool_backward", cvy_ocl_pool_inputs(problem),
                       (pool_pitches){y, dx}, &arrays);
  return launch_pool(device, problem, cvy_pooling_is_max(problem) ? "max_pool" : "average_pool",
                     cvy_ocl_pool_outputs(problem), (pool_pitches){x, y}, &arrays);
}
