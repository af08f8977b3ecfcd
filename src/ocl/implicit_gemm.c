/* ocl.implicit_gemm: a tiled matrix product that reads the source array in place, without a column
 * buffer. Scratch memory holds the partial results of the slices; the packed weights of forward and
 * backward_data are a prepacked operand. */
#include "ocl/implicit_gemm.h"
#include "problem/conv/conv.h"

static const cvy_param params_list[] = {
    [GEMM_BM] = {"BM", {4, 16, 32, 48, 64, 80, 96, 128, 0}},
    [GEMM_BN] = {"BN", {16, 32, 48, 64, 72, 80, 96, 128, 144, 0}},
    [GEMM_BK] = {"BK", {4, 8, 16, 32, 0}},
    [GEMM_TM] = {"TM", {4, 5, 6, 8, 10, 12, 16, 20, 0}},
    [GEMM_TN] = {"TN", {4, 6, 8, 9, 10, 12, 0}},
    [GEMM_SLICES] = {"SLICES", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 0}},
    [GEMM_SPACE] = {"SPACE", {1, 2, 0}},
    [GEMM_PARAMS] = {NULL, {0}},
};

bool cvy_ocl_implicit_gemm_scatters(const cvy_problem *problem) {
  bool strided = false;
  if (problem->operation != CONVOY_BACKWARD_DATA || cvy_filter_volume(problem) != 1) return false;
  for (int axis = 0; axis < 3; axis++) {
    if (problem->conv.pad[axis] != 0) return false;
    strided = strided || problem->conv.stride[axis] > 1;
  }
  return strided;
}

cvy_problem cvy_ocl_implicit_gemm_product(const cvy_problem *problem) {
  cvy_problem product;
  cvy_problem_copy(&product, problem);
  if (!cvy_ocl_implicit_gemm_scatters(problem)) return product;
  for (int axis = 0; axis < 3; axis++) {
    product.conv.in[axis] = problem->conv.out[axis];
    product.conv.stride[axis] = 1;
  }
  product.conv.x = (cvy_array_view){0, 0}; /* scratch memory */
  return product;
}

/* Input positions with the same remainder modulo the stride form a phase of backward_data. */
static void cut_phases(const cvy_problem *problem, cvy_ocl_implicit_gemm_extents *extents) {
  extents->columns = problem->conv.n;
  for (int axis = 0; axis < 3; axis++) {
    int64_t in = problem->conv.in[axis], stride = problem->conv.stride[axis];
    int64_t phases = in < stride ? in : stride, taps = problem->conv.filter[axis];
    extents->phases *= phases;
    extents->busy *= phases < taps ? phases : taps;
    extents->columns *= cvy_ocl_ceil_div(in, stride);
  }
}

cvy_ocl_implicit_gemm_extents cvy_ocl_implicit_gemm_extents_of(const cvy_problem *problem) {
  int64_t c = problem->conv.c / problem->conv.groups, k = problem->conv.k / problem->conv.groups;
  int64_t taps = cvy_filter_volume(problem), positions = problem->conv.n * cvy_out_volume(problem);
  cvy_ocl_implicit_gemm_extents extents = {
      .rows = k, .columns = positions, .depth = c, .terms = c * taps, .phases = 1, .busy = 1};
  if (cvy_ocl_is_weights(problem)) {
    extents.columns = c * taps;
    extents.terms = positions;
  } else if (problem->operation == CONVOY_BACKWARD_DATA) {
    extents.rows = c;
    extents.depth = k;
    cut_phases(problem, &extents);
    extents.terms = cvy_ocl_ceil_div(k * taps, extents.busy);
  }
  return extents;
}

/* A processor has few compute units, so that slices by their number would be long: adding thousands
 * of similar values one after the other rounds them all the same way, as it does over a background
 * that is the same in all images. Slices no longer than this keep such an error below 2e-5. */
#define LONGEST_SUM_OF_PROCESSOR 2048

/* backward_weights has as many work-groups as run at once, not one more, but no slice is shorter
 * than is worth starting, and there are no more partial results than the workspace takes. */
static void slice_positions(const cvy_problem *problem, const cvy_facts *facts, int64_t per_unit,
                            cvy_ocl_implicit_gemm_plan *plan) {
  cvy_ocl_product *product = &plan->product;
  int64_t images = problem->conv.n > 0 ? problem->conv.n : 1;
  int64_t terms = images * cvy_out_volume(problem);
  int64_t tiles = product->row_tiles * product->column_tiles * problem->conv.groups;
  if (facts->info.type == CONVOY_DEVICE_CPU) {
    int64_t groups = cvy_ocl_ceil_div(terms, LONGEST_SUM_OF_PROCESSOR) * tiles;
    int64_t least = cvy_ocl_ceil_div(groups, (int64_t)facts->info.compute_units);
    if (per_unit < least) per_unit = least;
  }
  int64_t slices = cvy_ocl_split_k(problem, facts, per_unit, tiles, cvy_ocl_ceil_div(terms, 64));
  product->slice_length = cvy_ocl_round_up(cvy_ocl_ceil_div(terms, slices), plan->tile.bk);
  product->slices = cvy_ocl_ceil_div(terms, product->slice_length);
}

/* Slices of forward and backward_data are whole blocks of channels. */
static void slice_blocks(const cvy_problem *problem, int64_t slices,
                         cvy_ocl_implicit_gemm_plan *plan) {
  cvy_ocl_product *product = &plan->product;
  int64_t blocks = product->depth_up / plan->tile.bk;
  product->slice_length = cvy_ocl_ceil_div(blocks, slices);
  product->slices = cvy_ocl_ceil_div(blocks, product->slice_length);
  plan->packed =
      problem->conv.groups * cvy_filter_volume(problem) * product->depth_up * product->rows_up;
}

/* Weights of one tap lie as backward_data wants them but for the zeros that fill up tiles, and
 * forward's program can read whole blocks of them as they lie. */
static bool packs(const cvy_problem *problem, const cvy_ocl_implicit_gemm_plan *plan) {
  const cvy_ocl_product *product = &plan->product;
  if (cvy_filter_volume(problem) != 1 || product->depth != product->depth_up) return true;
  return problem->operation == CONVOY_FORWARD ? !plan->compiled : product->rows != product->rows_up;
}

static cvy_ocl_implicit_gemm_plan plan_product(const cvy_problem *problem, const cvy_facts *facts,
                                               const cvy_params *params) {
  const int32_t *v = params->value;
  cvy_ocl_implicit_gemm_extents extents = cvy_ocl_implicit_gemm_extents_of(problem);
  cvy_ocl_implicit_gemm_plan plan = {
      .tile = {v[GEMM_BM], v[GEMM_BN], v[GEMM_BK], v[GEMM_TM], v[GEMM_TN]},
      .product = {.rows = extents.rows, .depth = extents.depth},
      .compiled = v[GEMM_SPACE] == 2};
  cvy_ocl_product *product = &plan.product;
  plan.items = plan.tile.bm / plan.tile.tm * (plan.tile.bn / plan.tile.tn);
  product->row_tiles = cvy_ocl_ceil_div(extents.rows, plan.tile.bm);
  product->column_tiles = cvy_ocl_ceil_div(extents.columns, plan.tile.bn);
  product->rows_up = product->row_tiles * plan.tile.bm;
  product->depth_up = cvy_ocl_round_up(extents.depth, plan.tile.bk);
  if (cvy_ocl_is_weights(problem))
    slice_positions(problem, facts, v[GEMM_SLICES], &plan);
  else
    slice_blocks(problem, v[GEMM_SLICES], &plan);
  plan.packs = !cvy_ocl_is_weights(problem) && packs(problem, &plan);
  plan.work_groups = product->row_tiles * product->column_tiles * problem->conv.groups *
                     extents.phases * product->slices;
  if (product->slices > 1)
    plan.scratch = product->slices * cvy_conv_count(problem, cvy_conv_out(problem));
  return plan;
}

cvy_ocl_implicit_gemm_plan cvy_ocl_implicit_gemm_plan_for(const cvy_problem *problem,
                                                          const cvy_facts *facts,
                                                          const cvy_params *params) {
  cvy_problem product = cvy_ocl_implicit_gemm_product(problem);
  cvy_ocl_implicit_gemm_plan plan = plan_product(&product, facts, params);
  plan.scatters = cvy_ocl_implicit_gemm_scatters(problem);
  if (plan.scatters) plan.scratch = plan.product.slices * cvy_conv_count(&product, CVY_X);
  return plan;
}

static int64_t local_bytes(const cvy_params *params, bool weights) {
  int64_t bm = params->value[GEMM_BM], bn = params->value[GEMM_BN];
  int64_t bk = params->value[GEMM_BK];
  if (weights) return (bm + bn) * (bk + 4) * (int64_t)sizeof(float) + bn * 16;
  int64_t items = bm / params->value[GEMM_TM] * (bn / params->value[GEMM_TN]);
  return 2 * (cvy_ocl_round_up(bk * bm, 4 * items) + bk * bn) * (int64_t)sizeof(float);
}

/* It says the same as the #error lines of the kernels. */
static bool divides(const cvy_params *params, bool weights) {
  const int32_t *v = params->value, bm = v[GEMM_BM], bn = v[GEMM_BN], bk = v[GEMM_BK];
  int32_t tm = v[GEMM_TM], tn = v[GEMM_TN];
  if (bm % tm != 0 || bn % tn != 0) return false;
  int32_t items = bm / tm * (bn / tn);
  if (weights) return bk % 8 == 0 && items % bk == 0;
  if (tm % 4 != 0 || tn % 4 != 0 || (bn & (bn - 1)) != 0) return false;
  if (items < bn) return bn % items == 0;
  return items % bn == 0 && bk % (items / bn) == 0;
}

bool cvy_ocl_implicit_gemm_valid(const cvy_params *params, const cvy_problem *problem,
                                 const cvy_facts *facts) {
  const int32_t *v = params->value;
  for (int i = 0; i < GEMM_PARAMS; i++)
    if (v[i] < 1) return false;
  if (!divides(params, cvy_ocl_is_weights(problem))) return false;
  int32_t items = v[GEMM_BM] / v[GEMM_TM] * (v[GEMM_BN] / v[GEMM_TN]);
  if (items < 4 || items > facts->max_work_group) return false;
  if (v[GEMM_TM] * v[GEMM_TN] > 128) return false;
  if (local_bytes(params, cvy_ocl_is_weights(problem)) > facts->local_memory_bytes) return false;
  cvy_ocl_implicit_gemm_plan plan = cvy_ocl_implicit_gemm_plan_for(problem, facts, params);
  if (plan.packed > CVY_OCL_MOST_FLOATS || plan.work_groups > INT32_MAX / plan.items) return false;
  return cvy_ocl_fits_scratch(plan.scratch, facts);
}

/* With fewer rows most of the smallest tile would be empty. */
static int64_t least_rows(const cvy_problem *problem) {
  return cvy_ocl_is_weights(problem) ? 4 : 2;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  cvy_ocl_implicit_gemm_extents extents = cvy_ocl_implicit_gemm_extents_of(problem);
  if (extents.rows < least_rows(problem)) {
    cvy_text_add(reason, "too thin for tiles: %lld channels out per group, needs %lld",
                 (long long)extents.rows, (long long)least_rows(problem));
    return false;
  }
  cvy_params params;
  cvy_ocl_implicit_gemm_defaults(problem, facts, &params);
  if (cvy_ocl_implicit_gemm_valid(&params, problem, facts)) return true;
  cvy_ocl_implicit_gemm_plan plan = cvy_ocl_implicit_gemm_plan_for(problem, facts, &params);
  cvy_text_add(
      reason,
      "needs %lld bytes of local memory, %lld elements of packed weights, %lld work-groups; "
      "has %lld bytes and 32-bit numbers",
      (long long)local_bytes(&params, cvy_ocl_is_weights(problem)), (long long)plan.packed,
      (long long)plan.work_groups, (long long)facts->local_memory_bytes);
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  return cvy_ocl_implicit_gemm_plan_for(problem, facts, params).scratch * (int64_t)sizeof(float);
}

const cvy_algorithm cvy_ocl_implicit_gemm = {
    .name = "ocl.implicit_gemm",
    .operations = CVY_CONV_FILTERED,
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << GEMM_SLICES,
    .space_params = 1u << GEMM_SPACE,
    .defaults = cvy_ocl_implicit_gemm_defaults,
    .valid = cvy_ocl_implicit_gemm_valid,
};
