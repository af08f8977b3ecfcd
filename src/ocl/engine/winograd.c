/* Launches ocl.winograd: for each piece of the batch the transforms of both arrays, the products,
 * and the transform of their results; or one kernel that does it all. */
#include "ocl/winograd.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/build_options.h"
#include "ocl/engine/device.h"
#include "ocl/engine/prepacked.h"
#include "ocl/engine/split_k.h"

static const program_source transforms = {
    "winograd.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_epilogue, cvy_cl_winograd_points,
                                         cvy_cl_winograd, NULL}};
static const program_source products = {
    "winograd_product.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_tile,
                                                 cvy_cl_winograd_product, NULL}};

static const program_source fused = {
    "winograd_fused.cl", (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                                               cvy_cl_space, cvy_cl_winograd_points, cvy_cl_tile,
                                               cvy_cl_winograd_patch, cvy_cl_winograd_fused, NULL}};
static const program_source fused_weights = {
    "winograd_fused_weights.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_space, cvy_cl_winograd_points,
                          cvy_cl_tile, cvy_cl_winograd_patch, cvy_cl_winograd_fused_weights, NULL}};

/* Transforms hold a tile in registers: larger groups would have to spill. */
#define MOST_ITEMS 128
/* So many items of a compute unit hide the latency of memory; items that load all their points at
 * once do with fewer. */
#define ITEMS_PER_UNIT 1024
#define LONE_ITEMS_PER_UNIT 128
/* What a transform does per point, in operations. */
#define POINT_WORK 32.0

/* A job that is being enqueued. */
typedef struct winograd_run {
  cvy_device *device;
  const cvy_job *job;
  const cvy_problem *problem;
  const bindings *arrays;
  cvy_ocl_winograd_plan plan;
  cvy_problem convolution; /* that is carried out */
  conv_args args;          /* of this convolution, for a whole piece */
  span a, b, out;          /* the matrices of the products */
} winograd_run;

/* A matrix as the transforms see it: the rows there are, and rows and columns in memory. */
typedef struct extents {
  int64_t rows, rows_up, columns_up;
} extents;

/* backward_data is a convolution of dy with the flipped filter. It has the extents of that, while
 * channels stay as they were. */
static cvy_problem carried_out(const cvy_problem *problem) {
  cvy_problem convolution;
  cvy_problem_copy(&convolution, problem);
  if (problem->operation != CONVOY_BACKWARD_DATA) return convolution;
  convolution.conv.x = problem->conv.y;
  convolution.conv.y = problem->conv.x;
  for (int axis = 0; axis < 3; axis++) {
    convolution.conv.in[axis] = problem->conv.out[axis];
    convolution.conv.out[axis] = problem->conv.in[axis];
    convolution.conv.pad[axis] = problem->conv.filter[axis] - 1 - problem->conv.pad[axis];
  }
  return convolution;
}

static int64_t points_of(const winograd_run *run) {
  return (run->plan.tile + 2) * (run->plan.tile + 2);
}

static int64_t group_items(const winograd_run *run) {
  int64_t items = cvy_ocl_group_items(&run->device->facts);
  return items < MOST_ITEMS ? items : MOST_ITEMS;
}

static convoy_status transform(const winograd_run *run, const char *kernel, const conv_args *args,
                               int64_t work_groups, const bindings *arrays) {
  char options[128];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld -D TILE=%lld -D DIRECTION=%d",
               (long long)group_items(run), (long long)run->plan.tile,
               run->problem->operation == CONVOY_BACKWARD_DATA);
  launch what = {
      .source = &transforms,
      .options = options,
      .kernel = kernel,
      .work_groups = work_groups,
      .items = group_items(run),
      .work = (double)work_groups * (double)group_items(run) * (double)points_of(run) * POINT_WORK};
  return launch_conv(run->device, &what, args, arrays);
}

/* Work-groups where each group of the problem has a matrix of so many elements, and each of these
 * an item. */
static int64_t groups_for(const winograd_run *run, int64_t elements) {
  return cvy_ocl_ceil_div(run->problem->conv.groups * elements, group_items(run));
}

/* A transform between an array and matrices, with an item per tile and channel. */
static convoy_status transform_tiles(const winograd_run *run, const char *kernel, conv_args args,
                                     extents of, const bindings *arrays) {
  args.rows = of.rows;
  args.rows_up = of.rows_up;
  args.columns_up = of.columns_up;
  return transform(run, kernel, &args, groups_for(run, of.rows_up * of.columns_up), arrays);
}

/* A kernel of tiled products; `more` are options beside the tile's. */
static launch of_tiles(const winograd_run *run, const program_source *source, const char *kernel,
                       const char *more, cvy_text *options) {
  const cvy_ocl_winograd_plan *plan = &run->plan;
  const cvy_ocl_tile *tile = &plan->product_tile;
  cvy_text_add(options, "-D WIDE=0 -D BM=%lld -D BN=%lld -D BK=%lld -D TM=%lld -D TN=%lld -D %s",
               (long long)tile->bm, (long long)tile->bn, (long long)tile->bk, (long long)tile->tm,
               (long long)tile->tn, more);
  return (launch){.source = source,
                  .options = options->at,
                  .kernel = kernel,
                  .work_groups = plan->work_groups,
                  .items = plan->items,
                  .work = 2.0 * (double)plan->matrices * (double)plan->product.rows_up *
                          (double)plan->product.columns_up * (double)plan->product.depth_up};
}

static convoy_status multiply(const winograd_run *run) {
  bool weights = cvy_ocl_is_weights(run->problem);
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  launch what = of_tiles(run, &products, "winograd_product",
                         weights ? "TRANSPOSED=1" : "TRANSPOSED=0", &text);
  conv_args args = run->args;
  args.groups = run->plan.matrices;
  bindings arrays = {.a = run->a, .b = run->b, .out = run->out};
  return launch_conv(run->device, &what, &args, &arrays);
}

/* The transformed weights, made at their first use. */
static convoy_status find_weights(winograd_run *run) {
  const cvy_ocl_winograd_plan *plan = &run->plan;
  prepacked_form form = {
      &cvy_ocl_winograd,
      {run->problem->operation, plan->tile, run->problem->conv.groups, plan->product.rows,
       plan->product.rows_up, plan->product.depth, plan->product.depth_up}};
  bool fresh = false;
  convoy_status status = prepacked_find(run->device, run->job->in[1].id, &form,
                                        plan->weights * (int64_t)sizeof(float), &run->a, &fresh);
  if (status || !fresh) return status;
  conv_args args = run->args;
  args.items = run->problem->conv.groups * plan->product.depth_up * plan->product.rows_up;
  bindings arrays = {.a = run->arrays->b, .out = run->a};
  return transform(run, "winograd_weights", &args, cvy_ocl_ceil_div(args.items, group_items(run)),
                   &arrays);
}

/* forward and backward_data of a piece. */
static convoy_status run_gather(const winograd_run *run, const conv_args *piece) {
  const cvy_ocl_winograd_plan *plan = &run->plan;
  bindings in = {.a = run->arrays->a, .out = run->b};
  bindings out = {.a = run->out, .bias = run->arrays->bias, .out = run->arrays->out};
  convoy_status status = transform_tiles(
      run, "winograd_input", *piece,
      (extents){plan->product.depth, plan->product.depth_up, plan->product.columns_up}, &in);
  if (!status) status = multiply(run);
  if (status) return status;
  return transform_tiles(
      run, "winograd_output", *piece,
      (extents){plan->product.rows, plan->product.rows_up, plan->product.columns_up}, &out);
}

/* Items that share an element of the gradient: one where the elements alone keep the device busy,
 * when each item loads all points at once, and otherwise as many as do; but neighbours shall read 8
 * neighbouring floats at least. */
static int64_t items_per_filter(const winograd_run *run, int64_t elements) {
  int64_t units = (int64_t)run->device->facts.info.compute_units;
  if (elements >= LONE_ITEMS_PER_UNIT * units || group_items(run) < 32) return 1;
  int64_t together = 4;
  while (elements * together < ITEMS_PER_UNIT * units && together * 16 <= group_items(run))
    together *= 2;
  return together;
}

/* Transforms x and dy to the matrices of the products. */
static convoy_status transform_operands(const winograd_run *run, const conv_args *piece) {
  const cvy_ocl_winograd_plan *plan = &run->plan;
  bindings arrays = {.a = run->arrays->a, .b = run->arrays->b, .out = run->a};
  conv_args args = *piece;
  args.items = plan->b_at;
  return transform(run, "winograd_operands", &args,
                   groups_for(run, plan->product.columns_up * plan->product.depth_up) +
                       groups_for(run, plan->product.rows_up * plan->product.depth_up),
                   &arrays);
}

/* backward_weights of a piece; what later pieces give is added. */
static convoy_status run_weights(const winograd_run *run, const conv_args *piece) {
  const cvy_ocl_winograd_plan *plan = &run->plan;
  bindings out = {.a = run->out, .out = run->arrays->out};
  convoy_status status = transform_operands(run, piece);
  if (!status) status = multiply(run);
  if (status) return status;
  conv_args args = *piece;
  args.items = run->problem->conv.groups * plan->product.rows * plan->product.columns;
  args.accumulate = args.accumulate || piece->first > 0;
  args.items_per_result = items_per_filter(run, args.items);
  return transform(run, args.items_per_result > 1 ? "winograd_filter_shared" : "winograd_filter",
                   &args, cvy_ocl_ceil_div(args.items, group_items(run) / args.items_per_result),
                   &out);
}

/* The whole pass, with the extents of space compiled in. `scratch` is for the slices of
 * a gradient. */
static convoy_status run_fused(const winograd_run *run, span scratch) {
  bool weights = cvy_ocl_is_weights(run->problem);
  char options[PROGRAM_OPTIONS];
  cvy_text text = cvy_text_in(options, sizeof options);
  launch what = of_tiles(run, weights ? &fused_weights : &fused,
                         weights ? "winograd_fused_weights" : "winograd_fused", "TILE=2", &text);
  add_space(&text, &run->convolution, true);
  if (!weights) add_resident(&text, run->device, 2 * run->plan.items);
  bindings arrays = *run->arrays;
  if (!weights) arrays.b = run->a;
  return launch_split_k(run->device, run->problem, &what, &run->args, &arrays, scratch);
}

static convoy_status run_pieces(const winograd_run *run) {
  bool weights = cvy_ocl_is_weights(run->problem);
  int64_t n = run->problem->conv.n;
  convoy_status status = CONVOY_OK;
  for (int64_t first = 0; first < n && !status; first += run->plan.images) {
    conv_args piece = run->args;
    piece.first = first;
    piece.n = n - first < run->plan.images ? n - first : run->plan.images;
    status = weights ? run_weights(run, &piece) : run_gather(run, &piece);
  }
  return status;
}

convoy_status run_winograd(cvy_device *device, const cvy_job *job, const job_arrays *given,
                           span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  cvy_ocl_winograd_plan plan =
      cvy_ocl_winograd_plan_for(&job->problem, &device->facts, &job->params);
  cvy_problem convolution = carried_out(&job->problem);
  conv_args args = args_of_product(&convolution, &plan.product);
  const conv_args of_job = args_of(&job->problem);
  args.a_pitch = of_job.a_pitch;
  args.out_pitch = of_job.out_pitch;
  winograd_run run = {.device = device,
                      .job = job,
                      .problem = &job->problem,
                      .arrays = arrays,
                      .plan = plan,
                      .convolution = convolution,
                      .args = args,
                      .a = scratch,
                      .b = span_behind(scratch, plan.b_at),
                      .out = span_behind(scratch, plan.out_at)};
  convoy_status status = cvy_ocl_is_weights(&job->problem) ? CONVOY_OK : find_weights(&run);
  if (status) return status;
  return plan.fused ? run_fused(&run, scratch) : run_pieces(&run);
}
