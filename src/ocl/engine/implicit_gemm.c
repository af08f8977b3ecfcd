/* Launches ocl.implicit_gemm. */
#include "cl/sources.h"
#include "ocl/engine/engine.h"

static const program_source gather_source = {
    "implicit_gemm.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_space,
                          cvy_cl_tile, cvy_cl_implicit_gemm, NULL}};
static const program_source weights_source = {
    "implicit_gemm_weights.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_space,
                          cvy_cl_implicit_gemm_weights, NULL}};

/* One job on its way: its plan, its arguments, where its arrays and its partial results lie. */
typedef struct gemm_run {
  cvy_device *device;
  const cvy_job *job;
  const cvy_problem *problem;
  const bindings *arrays;
  cvy_gemm_plan plan;
  conv_args args;
  span partial;
} gemm_run;

static convoy_status launch_product(const gemm_run *run, const program_source *source,
                                    const char *kernel, const conv_args *args,
                                    const bindings *arrays) {
  const cvy_gemm_tile *tile = &run->plan.tile;
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D BM=%lld -D BN=%lld -D BK=%lld -D TM=%lld -D TN=%lld",
               (long long)tile->bm, (long long)tile->bn, (long long)tile->bk, (long long)tile->tm,
               (long long)tile->tn);
  add_space(&text, run->problem, run->plan.compiled);
  if (run->problem->direction != CONVOY_BACKWARD_WEIGHTS)
    cvy_text_add(&text, " -D DIRECTION=%d -D WHOLE=%d",
                 run->problem->direction == CONVOY_BACKWARD_DATA,
                 run->plan.compiled && run->plan.depth % tile->bk == 0);
  const launch what = {.source = source,
                       .options = options,
                       .kernel = kernel,
                       .work_groups = run->plan.work_groups,
                       .items = run->plan.items,
                       .work = cvy_problem_flops(run->problem)};
  return launch_kernel(run->device, &what, *args, arrays);
}

/* The product into the result, or into one partial result per slice, which are then added; what
 * happens to finished sums happens once. */
static convoy_status multiply(const gemm_run *run, const program_source *source, const char *kernel,
                              const bindings *arrays) {
  if (run->plan.slices == 1) return launch_product(run, source, kernel, &run->args, arrays);
  bindings partial = *arrays;
  partial.out = run->partial;
  conv_args args = run->args;
  args.accumulate = args.has_bias = 0;
  args.activation = CONVOY_IDENTITY;
  const convoy_status status = launch_product(run, source, kernel, &args, &partial);
  return status
             ? status
             : add_slices(run->device, run->problem, run->plan.slices, run->partial, run->arrays);
}

static convoy_status pack_weights(const gemm_run *run, span packed) {
  conv_args args = run->args;
  args.items = run->plan.packed;
  args.slice = run->plan.tile.bk;
  const bindings arrays = {.a = run->arrays->b, .out = packed};
  return launch_side(run->device, run->problem, "pack_weights", &args, args.items, &arrays);
}

/* Weights are packed once and stay so until they change. */
static convoy_status find_packed(const gemm_run *run, span *out) {
  const cvy_gemm_plan *plan = &run->plan;
  const derived_form form = {
      &cvy_ocl_implicit_gemm,
      {run->problem->direction, run->problem->groups, plan->rows, plan->depth,
       cvy_filter_volume(run->problem), plan->rows_up, plan->depth_up, plan->tile.bk}};
  bool fresh;
  const convoy_status status = derived_find(run->device, run->job->b.id, &form,
                                            plan->packed * (int64_t)sizeof(float), out, &fresh);
  return status || !fresh ? status : pack_weights(run, *out);
}

/* forward and backward_data. */
static convoy_status run_gather(const gemm_run *run) {
  bindings arrays = *run->arrays;
  const convoy_status status = find_packed(run, &arrays.b);
  return status ? status : multiply(run, &gather_source, "implicit_gemm", &arrays);
}

static convoy_status run_weights(const gemm_run *run) {
  return multiply(run, &weights_source, "implicit_gemm_weights", run->arrays);
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

convoy_status run_implicit_gemm(cvy_device *device, const cvy_job *job, const bindings *arrays,
                                span scratch) {
  const cvy_gemm_plan plan = cvy_gemm_plan_for(&job->problem, &device->facts, &job->params);
  const gemm_run run = {.device = device,
                        .job = job,
                        .problem = &job->problem,
                        .arrays = arrays,
                        .plan = plan,
                        .args = args_with(&job->problem, &plan),
                        .partial = scratch};
  return job->problem.direction == CONVOY_BACKWARD_WEIGHTS ? run_weights(&run) : run_gather(&run);
}
