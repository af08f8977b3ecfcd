/* Launches ocl.copy. */
#include "ocl/copy.h"

#include "cl/copy_args.h"
#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/device.h"
#include "ocl/engine/generated_launch.h"
#include "problem/move/move.h"

static const program_source source = {
    "copy.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_copy_args, cvy_cl_moved, cvy_cl_copy, NULL}};

_Static_assert(COPY_AXES == CVY_MOVE_AXES, "kernels have as many axes as problems");

#define WORD_OF(field) ((int32_t)(offsetof(copy_args, field) / sizeof(conv_int)))
enum { ALIGN_SHIFT = 8 };
_Static_assert(CONV_ALIGN * sizeof(float) == 1 << ALIGN_SHIFT, "offsets are in these units");

static void write_options(const cvy_ocl_copy_plan *plan, const cvy_move_copy *p, cvy_text *text) {
  cvy_text_add(text, "-D WIDE=%d -D WG=%lld -D AXES=%d -D ELEMENT=%s -D CONVERTS=%d", plan->wide,
               (long long)plan->group_items, (int)p->axes,
               p->dtype == CONVOY_UINT8 ? "uchar" : "int", p->dtype != CONVOY_FLOAT32);
  cvy_text_add(text, " -D FILLED=%d -D STEPPED=%d -D WIDTH=%d", plan->filled, plan->stepped,
               (int)plan->width);
  if (plan->across != CVY_OCL_NOT_ACROSS)
    cvy_text_add(text, " -D ACROSS=%d -D TILE=%lld", (int)plan->across, (long long)plan->tile);
}

static copy_args arguments_of(const cvy_ocl_copy_plan *plan, const cvy_move_copy *p) {
  copy_args args = {.offset = p->offset,
                    .items = plan->items,
                    .rows_of_tiles = plan->rows_of_tiles,
                    .columns_of_tiles = plan->columns_of_tiles};
  int32_t fill;
  memcpy(&fill, &p->fill, sizeof fill);
  args.fill = fill;
  for (int axis = 0; axis < COPY_AXES; axis++) {
    args.extent[axis] = p->extent[axis];
    args.count[axis] = p->count[axis];
    args.begin[axis] = p->begin[axis];
    args.step[axis] = p->step[axis];
    args.stride[axis] = p->stride[axis];
  }
  return args;
}

convoy_status run_copy(cvy_device *device, const cvy_job *job, const job_arrays *given,
                       span scratch) {
  const cvy_move_copy *p = &job->problem.move.copy;
  const cvy_ocl_copy_plan plan = cvy_ocl_copy_plan_for(&job->problem, &device->facts);
  const copy_args args = arguments_of(&plan, p);
  const launch_array arrays[] = {{given->in[0], WORD_OF(x_at), ALIGN_SHIFT, INT64_MAX},
                                 {given->out[0], WORD_OF(y_at), ALIGN_SHIFT, INT64_MAX}};
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  int64_t words[COPY_ARGS_WORDS], block[COPY_ARGS_WORDS];
  (void)scratch;
  write_options(&plan, p, &text);
  memcpy(words, &args, sizeof words);
  for (size_t i = 0; i < COPY_ARGS_WORDS; i++) block_put(block, plan.wide, (int32_t)i, words[i]);
  const launch what = {.source = &source,
                       .options = options,
                       .kernel = plan.across == CVY_OCL_NOT_ACROSS ? "copy" : "copy_tiles",
                       .wide = plan.wide,
                       .work_groups = plan.work_groups,
                       .items = plan.group_items,
                       .work = generated_work(&job->problem)};
  const arguments with = {.block = block,
                          .words = COPY_ARGS_WORDS,
                          .first_group = WORD_OF(first_group),
                          .stream = NO_WORD,
                          .count = CVY_COUNT(arrays),
                          .array = arrays};
  return launch_kernel(device, &what, &with);
}
