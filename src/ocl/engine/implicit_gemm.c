/* Launches ocl.implicit_gemm. */
#include "cl/sources.h"
#include "ocl/engine/engine.h"

static const program_source gather_source = {
    "implicit_gemm.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_space,
                          cvy_cl_tile, cvy_cl_implicit_gemm, NULL}};
static const program_source weights_source = {
    "implicit_gemm_weights.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_space,
                                                      cvy_cl_implicit_gemm_weights, NULL}};
static const program_source sides_source = {
    "gemm_sides.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_epilogue, cvy_cl_gemm_sides, NULL}};

/* One job on its way: its plan, its arguments, where its arrays and the parts of its scratch lie. */
typedef struct gemm_run {
  cvy_device *device;
  const cvy_problem *problem;
  const bindings *arrays;
  cvy_gemm_plan plan;
  conv_args args;
  span packed, partial;
} gemm_run;

static void add_space(cvy_text *text, const cvy_problem *problem) {
  const struct {
    const char *name;
    const int64_t *values;
  } extents[] = {{"IN", problem->in},   {"FILTER", problem->filter},
                 {"OUT", problem->out}, {"STRIDE", problem->stride},
                 {"PAD", problem->pad}, {"DILATION", problem->dilation}};
  for (size_t i = 0; i < CVY_COUNT(extents); i++)
    for (int axis = 0; axis < 3; axis++)
      cvy_text_add(text, " -D %s_%d=%lld", extents[i].name, axis,
                   (long long)extents[i].values[axis]);
}

static convoy_status launch_product(const gemm_run *run, const program_source *source,
                                    const char *kernel, const conv_args *args,
                                    const bindings *arrays) {
  const cvy_gemm_tile *tile = &run->plan.tile;
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D BM=%lld -D BN=%lld -D BK=%lld -D TM=%lld -D TN=%lld",
               (long long)tile->bm, (long long)tile->bn, (long long)tile->bk, (long long)tile->tm,
               (long long)tile->tn);
  cvy_text_add(&text, " -D SPACE=%d", run->plan.compiled ? 2 : 1);
  if (run->problem->direction != CONVOY_BACKWARD_WEIGHTS)
    cvy_text_add(&text, " -D DIRECTION=%d -D WHOLE=%d",
                 run->problem->direction == CONVOY_BACKWARD_DATA,
                 run->plan.compiled && run->plan.depth % tile->bk == 0);
  if (run->plan.compiled) add_space(&text, run->problem);
  const launch what = {.source = source,
                       .options = options,
                       .kernel = kernel,
                       .work_groups = run->plan.work_groups,
                       .items = run->plan.items};
  return launch_kernel(run->device, &what, *args, arrays);
}

static convoy_status launch_side(const gemm_run *run, const char *kernel, const conv_args *args,
                                 int64_t items, const bindings *arrays) {
  const int64_t group = cvy_ocl_group_items(&run->device->facts);
  char options[64];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld -D DIRECTION=%d", (long long)group,
               run->problem->direction == CONVOY_BACKWARD_DATA);
  const launch what = {.source = &sides_source,
                       .options = options,
                       .kernel = kernel,
                       .work_groups = cvy_ceil_div(items, group),
                       .items = group};
  return launch_kernel(run->device, &what, *args, arrays);
}

static convoy_status pack_weights(const gemm_run *run) {
  conv_args args = run->args;
  args.items = run->problem->groups * cvy_filter_volume(run->problem) * run->plan.depth_up *
               run->plan.rows_up;
  args.slice = run->plan.tile.bk;
  const bindings arrays = {.a = run->arrays->b, .out = run->packed};
  return launch_side(run, "pack_weights", &args, args.items, &arrays);
}

/* Many slices are shared by several lanes of a work-group. */
static convoy_status add_slices(const gemm_run *run) {
  const cvy_operands operands = cvy_problem_operands(run->problem);
  const bool forward = run->problem->direction == CONVOY_FORWARD;
  conv_args args = run->args;
  args.items = cvy_problem_count(run->problem, operands.out);
  const int64_t lanes = run->plan.slices >= 16 ? 8 : 1,
                group = cvy_ocl_group_items(&run->device->facts);
  args.slice = lanes < group ? lanes : group;
  args.rows = forward ? args.k : args.c;
  args.depth = forward ? cvy_out_volume(run->problem) : cvy_in_volume(run->problem);
  const bindings arrays = {.a = run->partial, .bias = run->arrays->bias, .out = run->arrays->out};
  return launch_side(run, "add_slices", &args, args.items * args.slice, &arrays);
}

/* Into the result, or one partial result per slice without what happens to finished sums. */
static convoy_status multiply(const gemm_run *run) {
  bindings arrays = *run->arrays;
  arrays.b = run->packed;
  conv_args args = run->args;
  if (run->plan.slices > 1) {
    arrays.out = run->partial;
    args.accumulate = args.has_bias = 0;
    args.activation = CONVOY_IDENTITY;
  }
  return launch_product(run, &gather_source, "implicit_gemm", &args, &arrays);
}

/* forward and backward_data. */
static convoy_status run_gather(const gemm_run *run) {
  convoy_status status = pack_weights(run);
  if (!status) status = multiply(run);
  if (!status && run->plan.slices > 1) status = add_slices(run);
  return status;
}

static convoy_status run_weights(const gemm_run *run) {
  bindings arrays = *run->arrays;
  arrays.out = run->partial;
  const convoy_status status =
      launch_product(run, &weights_source, "implicit_gemm_weights", &run->args, &arrays);
  return status ? status : add_slices(run);
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
                        .problem = &job->problem,
                        .arrays = arrays,
                        .plan = plan,
                        .args = args_with(&job->problem, &plan),
                        .packed = scratch,
                        .partial = {scratch.memory, scratch.at + plan.packed}};
  return job->problem.direction == CONVOY_BACKWARD_WEIGHTS ? run_weights(&run) : run_gather(&run);
}
