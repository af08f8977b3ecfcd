/* Launches ocl.resample. */
#include "ocl/resample.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "ocl/engine/generated_launch.h"
#include "problem/resampling/resampling.h"

static const program_source source = {
    "resample.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_resample, NULL}};

static conv_int bits_of(float step) {
  int32_t bits;
  memcpy(&bits, &step, sizeof bits);
  return bits;
}

/* Steps are bits in the words that kernels of convolutions have for strides. */
static conv_args arguments_of(const cvy_problem *problem, int64_t items) {
  const cvy_resampling_problem *p = &problem->resampling;
  bool backward = cvy_resampling_is_backward(problem);
  int64_t x = cvy_resampling_x_pitch(problem), y = cvy_resampling_y_pitch(problem);
  return (conv_args){
      .n = p->n,
      .c = p->c,
      .iz = p->in[0],
      .ih = p->in[1],
      .iw = p->in[2],
      .oz = p->out[0],
      .oh = p->out[1],
      .ow = p->out[2],
      .sz = bits_of(p->step[0]),
      .sh = bits_of(p->step[1]),
      .sw = bits_of(p->step[2]),
      .a_pitch = backward ? y : x,
      .out_pitch = backward ? x : y,
      .items = items,
  };
}

static const char *kernel_of(const cvy_problem *problem) {
  if (cvy_resampling_is_backward(problem)) return "resample_backward";
  return cvy_resampling_is_linear(problem) ? "resample_linear" : "resample_nearest";
}

convoy_status run_resample(cvy_device *device, const cvy_job *job, const job_arrays *given,
                           span scratch) {
  const cvy_problem *problem = &job->problem;
  const cvy_ocl_resample_plan plan = cvy_ocl_resample_plan_for(problem);
  const conv_args args = arguments_of(problem, plan.items);
  const bindings arrays = {.a = given->in[0], .out = given->out[0]};
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  (void)scratch;
  cvy_text_add(&text, "-D WIDE=%d -D WG=%lld -D MODE=%d -D WIDTH=%d -D DOUBLES=%d", plan.wide,
               (long long)cvy_ocl_group_items(&device->facts), (int)problem->resampling.mode,
               (int)plan.width, plan.doubles);
  const launch what = {.source = &source,
                       .options = options,
                       .kernel = kernel_of(problem),
                       .wide = plan.wide,
                       .work = generated_work(problem)};
  return launch_elements(device, &what, &args, &arrays);
}
