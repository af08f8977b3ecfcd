/* Launches ocl.im2col_clblast: one im2col or col2im for a piece of the batch, and one product for
 * each image and group. */
#include "ocl/im2col_clblast.h"

#include "cl/sources.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/capture.h"
#include "ocl/engine/conv_launch.h"
#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"
#include "ocl/engine/opencl/errors.h"
#include "ocl/engine/opencl/memory.h"
#include "ocl/engine/opencl/queue.h"
#include "problem/conv/conv.h"

/* CLBlast's header sets this for itself. */
#undef CL_TARGET_OPENCL_VERSION
#include <clblast_c.h>

static const program_source source = {
    "im2col.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue, cvy_cl_im2col, NULL}};

/* Fewer columns would leave a card's units idle. */
#define COLUMNS_LEAST 128

/* A matrix of a product: where it begins, how far apart its rows are, and whether it is taken
 * transposed. */
typedef struct matrix {
  span at;
  int64_t pitch;
  bool transposed;
} matrix;

typedef struct columns_run {
  cvy_device *device;
  const cvy_problem *problem;
  const bindings *arrays;
  cvy_ocl_im2col_clblast_plan plan;
  launch what;
  conv_args args;
  span columns;
  runtime_memory *product; /* CLBlast's temporary memory, inside our workspace */
  int64_t product_bytes;
  int64_t rows;   /* output channels of a group */
  int64_t row;    /* weights of one of them */
  int64_t volume; /* positions of the output */
} columns_run;

static matrix at(span array, int64_t offset, int64_t pitch, bool transposed) {
  return (matrix){span_behind(array, offset), pitch, transposed};
}

static convoy_status fail_clblast(CLBlastStatusCode code) {
  if (code >= CLBlastInvalidLocalMemUsage || code <= -1024)
    return cvy_fail(CONVOY_ERR_DEVICE, "CLBlast's GEMM failed with its own status %d", (int)code);
  return opencl_fail((cl_int)code, "CLBlast's GEMM");
}

static CLBlastTranspose transpose(const matrix *m) {
  return m->transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* c = a b + beta c, row-major; m by n results of k terms. CLBlast's programs and launches are its
 * own business, so a dry run prepares nothing, and the job cannot be captured. It compiles when it
 * sees the need, and makes temporary memory where it is given none. */
static convoy_status multiply_once(const columns_run *run, int64_t m, int64_t n, int64_t k,
                                   matrix a, matrix b, matrix c, float beta) {
  if (run->device->programs.dry_run) return CONVOY_OK;
  capture_invalidate(run->device);
  cl_command_queue queue = run->device->queue->commands;
  size_t needed = 0;
  CLBlastStatusCode code = CLBlastSGemmTempBufferSize(
      CLBlastLayoutRowMajor, transpose(&a), transpose(&b), (size_t)m, (size_t)n, (size_t)k,
      (size_t)a.at.at, (size_t)a.pitch, (size_t)b.at.at, (size_t)b.pitch, (size_t)c.at.at,
      (size_t)c.pitch, &queue, &needed);
  if (code != CLBlastSuccess) return fail_clblast(code);
  cl_mem temporary =
      needed > 0 && (int64_t)needed <= run->product_bytes ? (cl_mem)run->product : NULL;
  cvy_phase before = observer_phase(CVY_PHASE_COMPILING);
  cl_event done = NULL;
  code = CLBlastSgemmWithTempBuffer(CLBlastLayoutRowMajor, transpose(&a), transpose(&b), (size_t)m,
                                    (size_t)n, (size_t)k, 1.0f, (cl_mem)a.at.memory,
                                    (size_t)a.at.at, (size_t)a.pitch, (cl_mem)b.at.memory,
                                    (size_t)b.at.at, (size_t)b.pitch, beta, (cl_mem)c.at.memory,
                                    (size_t)c.at.at, (size_t)c.pitch, &queue, &done, temporary);
  observer_phase(before);
  if (done)
    completion_add(run->device, (runtime_event *)done, 0, &run->device->completion.unmeasured);
  return code == CLBlastSuccess ? CONVOY_OK : fail_clblast(code);
}

/* Columns of c that a slow card computes in device->longest_launch seconds. What was measured has
 * no say, as CLBlast takes other kernels for other sizes, and the same call has to give the same
 * bits. */
static int64_t columns_at_once(const columns_run *run, int64_t m, int64_t k) {
  double most = SLOW_RATE * run->device->longest_launch / (2.0 * (double)m * (double)k);
  if (!(most < (double)INT32_MAX)) return INT32_MAX;
  return most > COLUMNS_LEAST ? (int64_t)most / COLUMNS_LEAST * COLUMNS_LEAST : COLUMNS_LEAST;
}

/* The same in pieces of columns, none of which keeps the card busy for long. */
static convoy_status multiply(const columns_run *run, int64_t m, int64_t n, int64_t k, matrix a,
                              matrix b, matrix c, float beta) {
  int64_t most = columns_at_once(run, m, k);
  convoy_status status = CONVOY_OK;
  for (int64_t done = 0; !status && done < n; done += most) {
    int64_t left = n - done;
    status = multiply_once(run, m, left < most ? left : most, k, a, b, c, beta);
    b.at.at += b.transposed ? most * b.pitch : most;
    c.at.at += most;
  }
  return status;
}

/* Where a group of an image begins in y, in w, and among its columns, which may be x or
 * dx itself. */
static int64_t y_offset(const columns_run *run, int64_t image, int64_t group) {
  return (image * run->problem->conv.groups + group) * run->rows * run->volume;
}
static int64_t w_offset(const columns_run *run, int64_t group) {
  return group * run->rows * run->row;
}
static int64_t columns_offset(const columns_run *run, int64_t image, int64_t first, int64_t group) {
  int64_t from = run->plan.plain ? 0 : first;
  return ((image - from) * run->problem->conv.groups + group) * run->row * run->volume;
}

static convoy_status forward(const columns_run *run, int64_t image, int64_t first, int64_t group) {
  matrix w = at(run->arrays->b, w_offset(run, group), run->row, false);
  matrix columns = at(run->columns, columns_offset(run, image, first, group), run->volume, false);
  matrix y = at(run->arrays->out, y_offset(run, image, group), run->volume, false);
  return multiply(run, run->rows, run->volume, run->row, w, columns, y,
                  run->problem->accumulate ? 1.0f : 0.0f);
}

static convoy_status backward_data(const columns_run *run, int64_t image, int64_t first,
                                   int64_t group) {
  matrix w = at(run->arrays->b, w_offset(run, group), run->row, true);
  matrix dy = at(run->arrays->a, y_offset(run, image, group), run->volume, false);
  matrix columns = at(run->columns, columns_offset(run, image, first, group), run->volume, false);
  bool add = run->plan.plain && run->problem->accumulate;
  return multiply(run, run->row, run->volume, run->rows, w, dy, columns, add ? 1.0f : 0.0f);
}

/* The images' sums are added in their order. */
static convoy_status backward_weights(const columns_run *run, int64_t image, int64_t first,
                                      int64_t group) {
  matrix dy = at(run->arrays->b, y_offset(run, image, group), run->volume, false);
  matrix columns = at(run->columns, columns_offset(run, image, first, group), run->volume, true);
  matrix dw = at(run->arrays->out, w_offset(run, group), run->row, false);
  bool add = image > 0 || run->problem->accumulate;
  return multiply(run, run->rows, run->row, run->volume, dy, columns, dw, add ? 1.0f : 0.0f);
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

/* Makes the part of the workspace behind the columns a buffer of its own, because CLBlast takes no
 * offset. */
static convoy_status open_product(columns_run *run, span scratch) {
  if (run->device->programs.dry_run) return CONVOY_OK;
  int64_t from = scratch.at + cvy_ocl_round_up(run->plan.images * run->plan.image, 64);
  int64_t align = run->device->traits.alignment / (int64_t)sizeof(float);
  int64_t start = cvy_ocl_round_up(from, align > 1 ? align : 1);
  run->product_bytes = (from + run->plan.product - start) * (int64_t)sizeof(float);
  if (run->product_bytes <= 0) return CONVOY_OK;
  int32_t code;
  run->product = opencl_memory_part(scratch.memory, (size_t)start * sizeof(float),
                                    (size_t)run->product_bytes, &code);
  return run->product ? CONVOY_OK : opencl_fail(code, "CLBlast's part of the workspace");
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
  convoy_status status = open_product(&run, scratch);
  if (!status) status = run_pieces(&run);
  if (run.product) opencl_memory_release(device->queue, run.product);
  return status;
}

void clblast_close(void) {
  CLBlastClearCache();
}
