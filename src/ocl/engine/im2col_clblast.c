/* Launches ocl.im2col_clblast: one im2col or col2im for a piece of the batch, and one product for
 * each image and group. */
#include "ocl/im2col_clblast.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/clblast.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "problem/conv/conv.h"

static const program_source source = {
    "im2col.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_im2col, NULL}};

typedef struct columns_run {
  cvy_device *device;
  const cvy_problem *problem;
  const bindings *arrays;
  cvy_ocl_im2col_clblast_plan plan;
  launch what;
  conv_args args;
  span columns;
  clblast_products products;
  int64_t rows;   /* output channels of a group */
  int64_t row;    /* weights of one of them */
  int64_t volume; /* positions of the output */
} columns_run;

static clblast_matrix at(span array, int64_t offset, int64_t pitch, bool transposed) {
  return (clblast_matrix){span_behind(array, offset), pitch, transposed};
}

/* Where a group of an image begins in y, in w, and among its columns, which may be x or
 * dx itself. */
static int64_t y_offset(const columns_run *run, int64_t image, int64_t group) {
  return cvy_conv_place(run->problem, CVY_Y, image, group * run->rows);
}
static int64_t w_offset(const columns_run *run, int64_t group) {
  return group * run->rows * run->row;
}
static int64_t columns_offset(const columns_run *run, int64_t image, int64_t first, int64_t group) {
  int64_t of_group = group * run->row * run->volume;
  if (run->plan.plain) return image * cvy_conv_pitch(run->problem, CVY_X) + of_group;
  return (image - first) * run->problem->conv.groups * run->row * run->volume + of_group;
}

static convoy_status forward(const columns_run *run, int64_t image, int64_t first, int64_t group) {
  clblast_matrix w = at(run->arrays->b, w_offset(run, group), run->row, false);
  clblast_matrix columns =
      at(run->columns, columns_offset(run, image, first, group), run->volume, false);
  clblast_matrix y = at(run->arrays->out, y_offset(run, image, group), run->volume, false);
  return clblast_multiply(&run->products, run->rows, run->volume, run->row, w, columns, y,
                          run->problem->accumulate ? 1.0f : 0.0f);
}

static convoy_status backward_data(const columns_run *run, int64_t image, int64_t first,
                                   int64_t group) {
  clblast_matrix w = at(run->arrays->b, w_offset(run, group), run->row, true);
  clblast_matrix dy = at(run->arrays->a, y_offset(run, image, group), run->volume, false);
  clblast_matrix columns =
      at(run->columns, columns_offset(run, image, first, group), run->volume, false);
  bool add = run->plan.plain && run->problem->accumulate;
  return clblast_multiply(&run->products, run->row, run->volume, run->rows, w, dy, columns,
                          add ? 1.0f : 0.0f);
}

/* The images' sums are added in their order. */
static convoy_status backward_weights(const columns_run *run, int64_t image, int64_t first,
                                      int64_t group) {
  clblast_matrix dy = at(run->arrays->b, y_offset(run, image, group), run->volume, false);
  clblast_matrix columns =
      at(run->columns, columns_offset(run, image, first, group), run->volume, true);
  clblast_matrix dw = at(run->arrays->out, w_offset(run, group), run->row, false);
  bool add = image > 0 || run->problem->accumulate;
  return clblast_multiply(&run->products, run->rows, run->row, run->volume, dy, columns, dw,
                          add ? 1.0f : 0.0f);
}

static convoy_status (*const products[])(const columns_run *, int64_t, int64_t, int64_t) = {
    [CONVOY_FORWARD] = forward,
    [CONVOY_BACKWARD_DATA] = backward_data,
    [CONVOY_BACKWARD_WEIGHTS] = backward_weights,
};

static convoy_status launch_here(columns_run *run, const char *kernel, int64_t items,
                                 const bindings *arrays) {
  run->what.kernel = kernel;
  run->args.items = items;
  return launch_elements(run->device, &run->what, &run->args, arrays);
}

static convoy_status run_piece(columns_run *run, int64_t first, int64_t images) {
  const cvy_problem *problem = run->problem;
  bool back = problem->operation == CONVOY_BACKWARD_DATA;
  run->args.first = first;
  convoy_status status = CONVOY_OK;
  if (!run->plan.plain && !back) {
    status = launch_here(run, "im2col", images * run->plan.image,
                         &(bindings){.a = run->arrays->a, .out = run->columns});
  }
  for (int64_t image = first; image < first + images; image++) {
    for (int64_t group = 0; !status && group < problem->conv.groups; group++)
      status = products[problem->operation](run, image, first, group);
  }
  if (status || run->plan.plain || !back) return status;
  return launch_here(
      run, "col2im", images * problem->conv.c * cvy_in_volume(problem),
      &(bindings){.a = run->columns, .bias = run->arrays->bias, .out = run->arrays->out});
}

/* What happens to finished sums; col2im has seen to it already. */
static convoy_status run_epilogue(columns_run *run) {
  const cvy_problem *problem = run->problem;
  bool back = problem->operation == CONVOY_BACKWARD_DATA;
  if (!problem->conv.has_bias && problem->conv.activation == CONVOY_IDENTITY) return CONVOY_OK;
  if (back && !run->plan.plain) return CONVOY_OK;
  run->args.rows = back ? problem->conv.c : problem->conv.k;
  run->args.depth = run->volume;
  return launch_here(run, "epilogue_pass", cvy_conv_count(problem, back ? CVY_X : CVY_Y),
                     &(bindings){.bias = run->arrays->bias, .out = run->arrays->out});
}

static convoy_status run_pieces(columns_run *run) {
  int64_t n = run->problem->conv.n;
  for (int64_t first = 0; first < n; first += run->plan.images) {
    int64_t left = n - first;
    convoy_status status = run_piece(run, first, left < run->plan.images ? left : run->plan.images);
    if (status) return status;
  }
  return run_epilogue(run);
}

static span columns_of(const cvy_problem *problem, const cvy_ocl_im2col_clblast_plan *plan,
                       const bindings *arrays, span scratch) {
  if (!plan->plain) return scratch;
  return problem->operation == CONVOY_BACKWARD_DATA ? arrays->out : arrays->a;
}

convoy_status run_im2col_clblast(cvy_device *device, const cvy_job *job, const job_arrays *given,
                                 span scratch) {
  bindings all = bindings_of(given);
  const bindings *arrays = &all;
  const cvy_problem *problem = &job->problem;
  char options[64];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld", (long long)cvy_ocl_group_items(&device->facts));
  columns_run run = {
      .device = device,
      .problem = problem,
      .arrays = arrays,
      .plan = cvy_ocl_im2col_clblast_plan_for(problem, &device->facts),
      .what = {.source = &source, .options = options},
      .args = args_of(problem),
      .rows = problem->conv.k / problem->conv.groups,
      .row = problem->conv.c / problem->conv.groups * cvy_filter_volume(problem),
      .volume = cvy_out_volume(problem),
  };
  run.columns = columns_of(problem, &run.plan, arrays, scratch);
  span behind = span_behind(scratch, cvy_ocl_round_up(run.plan.images * run.plan.image, 64));
  convoy_status status = clblast_products_open(device, behind, run.plan.product, &run.products);
  if (!status) status = run_pieces(&run);
  clblast_products_close(&run.products);
  return status;
}
