/* Launches ocl.implicit_gemm. */
#include "cl/sources.h"
#include "ocl/engine/engine.h"

static const program_source gather_source = {
    "implicit_gemm.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                              cvy_cl_tile, cvy_cl_implicit_gemm, NULL}};
static const program_source weights_source = {
    "implicit_gemm_weights.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_tile,
                          cvy_cl_implicit_gemm_weights, NULL}};

static void write_options(const cvy_device *device, const cvy_problem *problem,
                          const cvy_gemm_tile *tile, char *options, size_t size) {
  cvy_text text = cvy_text_in(options, size);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld -D BM=%lld -D BN=%lld -D BK=%lld -D TM=%lld -D TN=%lld",
               (long long)cvy_ocl_group_items(&device->facts), (long long)tile->bm,
               (long long)tile->bn, (long long)tile->bk, (long long)tile->tm, (long long)tile->tn);
  if (problem->direction != CONVOY_BACKWARD_WEIGHTS)
    cvy_text_add(&text, " -D DIRECTION=%d", problem->direction == CONVOY_BACKWARD_DATA);
}

static conv_args args_with(const cvy_problem *problem, const cvy_gemm_plan *plan) {
  conv_args args = args_of(problem);
  args.rows = plan->rows;
  args.depth = plan->depth;
  args.rows_up = plan->rows_up;
  args.depth_up = plan->depth_up;
  args.row_tiles = plan->row_tiles;
  args.column_tiles = plan->column_tiles;
  args.slices = plan->slices;
  args.slice = plan->slice;
  return args;
}

/* forward and backward_data: pack the weights, then multiply. */
static convoy_status run_gather(cvy_device *device, launch *what, conv_args args,
                                const bindings *arrays, span packed, const cvy_gemm_plan *plan,
                                double flops) {
  what->source = &gather_source;
  what->kernel = "pack_weights";
  args.items = plan->scratch;
  const bindings pack = {.a = arrays->b, .out = packed};
  const convoy_status status = launch_elements(device, what, &args, &pack);
  if (status) return status;
  what->kernel = "implicit_gemm";
  what->work = flops;
  bindings multiply = *arrays;
  multiply.b = packed;
  return launch_kernel(device, what, args, &multiply);
}

/* backward_weights: one partial result per slice, then their sum in order. */
static convoy_status run_weights(cvy_device *device, launch *what, conv_args args,
                                 const bindings *arrays, span partial, double flops) {
  what->source = &weights_source;
  what->kernel = "implicit_gemm_weights";
  what->work = flops;
  bindings multiply = *arrays;
  multiply.out = partial;
  const convoy_status status = launch_kernel(device, what, args, &multiply);
  if (status) return status;
  what->kernel = "add_slices";
  args.items = args.k * args.depth * args.t * args.r * args.s;
  what->work = 2.0 * (double)args.slices * (double)args.items;
  const bindings add = {.a = partial, .out = arrays->out};
  return launch_elements(device, what, &args, &add);
}

convoy_status run_implicit_gemm(cvy_device *device, const cvy_job *job, const bindings *arrays,
                                span scratch) {
  const cvy_gemm_plan plan = cvy_gemm_plan_for(&job->problem, &device->facts, &job->params);
  char options[128];
  write_options(device, &job->problem, &plan.tile, options, sizeof options);
  launch what = {.options = options, .work_groups = plan.work_groups, .items = plan.items};
  const conv_args args = args_with(&job->problem, &plan);
  if (job->problem.direction == CONVOY_BACKWARD_WEIGHTS)
    return run_weights(device, &what, args, arrays, scratch, cvy_problem_flops(&job->problem));
  return run_gather(device, &what, args, arrays, scratch, &plan, cvy_problem_flops(&job->problem));
}
