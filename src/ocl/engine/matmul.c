/* Launches ocl.matmul. */
#include "ocl/matmul.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "ocl/engine/generated_launch.h"
#include "ocl/engine/split_k.h"

static const program_source source = {
    "matmul.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_tile, cvy_cl_matmul, NULL}};

static void write_options(const cvy_ocl_matmul_plan *plan, cvy_text *text) {
  const cvy_ocl_tile *tile = &plan->tile;
  const cvy_matmul_problem *p = &plan->of.p;
  cvy_text_add(text, "-D WIDE=%d -D BM=%d -D BN=%d -D BK=%d -D TM=%d -D TN=%d", plan->wide,
               (int)tile->bm, (int)tile->bn, (int)tile->bk, (int)tile->tm, (int)tile->tn);
  cvy_text_add(text, " -D A_TRANSPOSED=%d -D B_TRANSPOSED=%d -D SUMMED=%d", (int)p->a_transposed,
               (int)p->b_transposed, (int)p->summed);
}

/* Into scratch memory, which has no gaps, and from there into rows that may have some: to the
 * second kernel rows are images of one channel. */
static convoy_status launch_slices(cvy_device *device, const cvy_job *job, const launch *what,
                                   conv_args args, const bindings *arrays, span scratch) {
  conv_args sums = {.accumulate = args.accumulate,
                    .items = args.items,
                    .slices = args.slices,
                    .rows = 1,
                    .depth = args.columns,
                    .out_pitch = args.ow};
  bindings partial = *arrays;
  partial.out = scratch;
  args.accumulate = 0;
  args.ow = args.columns;
  args.out_pitch = args.rows * args.columns;
  convoy_status status = launch_conv(device, what, &args, &partial);
  bindings all = {.a = scratch, .out = arrays->out};
  return status ? status : launch_sum_of_slices(device, &job->problem, &sums, &all);
}

convoy_status run_matmul(cvy_device *device, const cvy_job *job, const job_arrays *given,
                         span scratch) {
  cvy_ocl_matmul_plan plan = cvy_ocl_matmul_plan_for(&job->problem, &job->params);
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  write_options(&plan, &text);
  const cvy_matmul_products *of = &plan.of;
  conv_args args = {.n = of->p.batch,
                    .iw = of->a.row,
                    .s = of->b.row,
                    .ow = of->y.row,
                    .accumulate = job->problem.accumulate,
                    .a_pitch = of->a.step,
                    .b_pitch = of->b.step,
                    .out_pitch = of->y.step,
                    .rows = of->p.m,
                    .columns = of->p.n,
                    .depth = of->p.k,
                    .items = plan.results,
                    .slices = plan.slices,
                    .slice_length = plan.slice_length,
                    .row_tiles = plan.row_tiles,
                    .column_tiles = plan.column_tiles};
  launch what = {.source = &source,
                 .options = options,
                 .kernel = "matmul",
                 .wide = plan.wide,
                 .work_groups = plan.work_groups,
                 .items = plan.items,
                 .work = generated_work(&job->problem)};
  bindings arrays = {.a = given->in[0], .b = given->in[1], .out = given->out[0]};
  return plan.slices > 1 ? launch_slices(device, job, &what, args, &arrays, scratch)
                         : launch_conv(device, &what, &args, &arrays);
}
