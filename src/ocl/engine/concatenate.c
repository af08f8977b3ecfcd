/* Launches ocl.concatenate. */
#include "ocl/concatenate.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "problem/move/move.h"

static const program_source source = {
    "concatenate.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_moved, cvy_cl_concatenate, NULL}};

static void write_options(bool wide, int64_t items, int32_t width, int32_t dtype, cvy_text *text) {
  cvy_text_add(text, "-D WIDE=%d -D WG=%lld -D WIDTH=%d -D ELEMENT=%s -D CONVERTS=%d", wide,
               (long long)items, (int)width, dtype == CONVOY_UINT8 ? "uchar" : "int",
               dtype != CONVOY_FLOAT32);
}

static convoy_status launch_part(cvy_device *device, const cvy_problem *problem, int32_t i,
                                 int64_t at, const job_arrays *given) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  const bindings arrays = {.a = given->in[i], .out = given->out[0]};
  const int32_t width = cvy_ocl_concatenate_width(problem);
  const conv_args args = {.items = p->images * p->width[i] / width,
                          .columns = p->width[i],
                          .rows = cvy_move_concatenate_width(p),
                          .depth = at};
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  const launch what = {.source = &source,
                       .options = options,
                       .kernel = "concatenate",
                       .wide = cvy_ocl_concatenate_is_wide(problem),
                       .work = MOVED_WORK * (double)p->images * (double)p->width[i]};
  write_options(what.wide, cvy_ocl_group_items(&device->facts), width, p->dtype[i], &text);
  return launch_elements(device, &what, &args, &arrays);
}

convoy_status run_concatenate(cvy_device *device, const cvy_job *job, const job_arrays *given,
                              span scratch) {
  const cvy_move_concatenate *p = &job->problem.move.concatenate;
  convoy_status status = CONVOY_OK;
  int64_t at = 0;
  (void)scratch;
  for (int32_t i = 0; i < p->parts && !status; at += p->width[i++])
    if (p->width[i] > 0) status = launch_part(device, &job->problem, i, at, given);
  return status;
}
