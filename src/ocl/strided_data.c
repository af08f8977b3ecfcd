/* ocl.strided_data: backward_data with a stride, with all remainders modulo the stride in one
 * work-group. Scratch memory holds the partial results of the slices; the packed weights are a
 * prepacked operand. */
#include "ocl/strided_data.h"
#include "problem/conv/conv.h"

/* BM, BN and BK are the tile's, as in plan.h; an item has TM rows and 4 columns. SLICES are those
 * of the sum. */
enum { BM, BN, BK, TM, SLICES };

static const cvy_param params_list[] = {
    [BM] = {"BM", {4, 8, 16, 32, 64, 0}},
    [BN] = {"BN", {16, 32, 64, 128, 256, 0}},
    [BK] = {"BK", {1, 2, 4, 8, 16, 0}},
    [TM] = {"TM", {4, 8, 0}},
    [SLICES] = {"SLICES", {1, 2, 3, 4, 6, 8, 12, 0}},
    {NULL, {0}},
};

/* An item has TM x 4 results of each phase, and registers for no more than this. */
#define MOST_SUMS 128
/* All taps are unrolled, and whether a shift lies inside the source is one bit of a word. */
#define MOST_TAPS 32

/* Source positions that some tap reaches from one position of a phase, as the kernel has them. */
static int64_t shifts_of(const cvy_problem *problem) {
  int64_t shifts = 1;
  for (int axis = 0; axis < 3; axis++) {
    int64_t stride = problem->conv.stride[axis], pad = problem->conv.pad[axis];
    int64_t far = (problem->conv.filter[axis] - 1) * problem->conv.dilation[axis];
    int64_t first = pad * (stride - 1) % stride + pad;
    int64_t last = (far + pad * (stride - 1)) % stride + pad - far;
    shifts *= (first - last) / stride + 1;
  }
  return shifts;
}

static int64_t phases_of(const cvy_problem *problem) {
  return problem->conv.stride[0] * problem->conv.stride[1] * problem->conv.stride[2];
}

cvy_ocl_strided_data_plan cvy_ocl_strided_data_plan_for(const cvy_problem *problem,
                                                        const cvy_params *params) {
  const int32_t *v = params->value;
  int64_t taps = cvy_filter_volume(problem);
  cvy_ocl_strided_data_plan plan = {.bm = v[BM], .bn = v[BN], .bk = v[BK], .tm = v[TM]};
  cvy_ocl_product *product = &plan.product;
  plan.items = plan.bm / plan.tm * (plan.bn / 4);
  plan.sums = phases_of(problem) * plan.tm * 4;
  product->rows = problem->conv.c / problem->conv.groups;
  product->depth = problem->conv.k / problem->conv.groups;
  int64_t columns = problem->conv.n;
  for (int axis = 0; axis < 3; axis++)
    columns *= cvy_ocl_ceil_div(problem->conv.in[axis], problem->conv.stride[axis]);
  product->row_tiles = cvy_ocl_ceil_div(product->rows, plan.bm);
  product->column_tiles = cvy_ocl_ceil_div(columns, plan.bn);
  product->rows_up = product->row_tiles * plan.bm;
  product->depth_up = cvy_ocl_round_up(product->depth, plan.bk);
  int64_t blocks = product->depth_up / plan.bk;
  product->slice_length = cvy_ocl_ceil_div(blocks, v[SLICES]);
  product->slices = cvy_ocl_ceil_div(blocks, product->slice_length);
  plan.work_groups =
      product->row_tiles * product->column_tiles * problem->conv.groups * product->slices;
  plan.packed = problem->conv.groups * taps * product->depth_up * product->rows_up;
  if (product->slices > 1) plan.scratch = product->slices * cvy_conv_count(problem, CVY_X);
  return plan;
}

static int64_t local_bytes(const cvy_problem *problem, const int32_t *v) {
  int64_t elements = cvy_filter_volume(problem) * v[BM] + shifts_of(problem) * v[BN];
  return (int64_t)sizeof(float) * 2 * v[BK] * elements;
}

/* It says the same as the #error lines of the kernel. */
static bool divides(const int32_t *v) {
  if (v[BM] % v[TM] != 0 || v[TM] % 4 != 0 || v[BN] % 4 != 0) return false;
  int32_t items = v[BM] / v[TM] * (v[BN] / 4);
  return items % v[BN] == 0 || v[BN] % items == 0;
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  for (int i = BM; i <= SLICES; i++)
    if (v[i] < 1) return false;
  if (!divides(v) || local_bytes(problem, v) > facts->local_memory_bytes) return false;
  cvy_ocl_strided_data_plan plan = cvy_ocl_strided_data_plan_for(problem, params);
  if (plan.sums > MOST_SUMS) return false;
  if (plan.items > facts->max_work_group || plan.work_groups > INT32_MAX / plan.items) return false;
  return plan.packed <= CVY_OCL_MOST_FLOATS && cvy_ocl_fits_scratch(plan.scratch, facts);
}

/* As many slices as give each compute unit two work-groups, none of fewer than 256 channels. */
static int32_t wanted_slices(const cvy_problem *problem, const cvy_facts *facts,
                             const cvy_params *params) {
  cvy_ocl_strided_data_plan plan = cvy_ocl_strided_data_plan_for(problem, params);
  int64_t wanted = 2 * (int64_t)facts->info.compute_units / plan.work_groups;
  if (wanted > plan.product.depth / 256) wanted = plan.product.depth / 256;
  return cvy_ocl_listed(&params_list[SLICES], wanted);
}

static bool is_few(const cvy_problem *problem, const cvy_facts *facts, const cvy_params *params) {
  int64_t work_groups = cvy_ocl_strided_data_plan_for(problem, params).work_groups;
  return facts->info.type != CONVOY_DEVICE_CPU &&
         work_groups < 2 * (int64_t)facts->info.compute_units;
}

/* Sums of phases without taps are constants, so a 1x1 filter takes as many rows as one phase
 * allows. Tiles are short for few channels, so that no row is empty, small for many channels of few
 * positions, so that no unit is idle, and small where a compiler takes seconds for what is
 * unrolled. Blocks of channels are as deep as local memory takes, with room for a second
 * work-group. */
static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  int64_t rows = problem->conv.c / problem->conv.groups;
  bool two_rows = rows > 32 && phases_of(problem) <= 2;
  int32_t *v = out->value;
  *out = (cvy_params){{rows > 16 ? 32 : rows > 4 ? 16 : 4, rows > 4 ? 64 : 128, 4, 4, 1}};
  if (two_rows) *out = (cvy_params){{64, 64, 4, 8, 1}};
  if (rows > 32 && cvy_filter_volume(problem) == 1 && phases_of(problem) <= 4)
    *out = (cvy_params){{64, 64, 8, 8, 1}};
  if (facts->info.type == CONVOY_DEVICE_CPU) *out = (cvy_params){{rows > 4 ? 8 : 4, 16, 1, 4, 1}};
  /* Where few items load a tile, AMD's compilers spill what each loads at once (tools/isa). */
  if (facts->preferred_multiple >= 64 && (v[BM] == 16 || v[BM] == 32)) v[BK] = 2;
  while (v[BK] > 1 && 2 * local_bytes(problem, v) > facts->local_memory_bytes) v[BK] /= 2;
  if (rows > 32 && phases_of(problem) <= 4 && is_few(problem, facts, out))
    *out = (cvy_params){{32, 32, 8, 4, 1}};
  while (v[BN] > 16 && local_bytes(problem, v) > facts->local_memory_bytes) v[BN] /= 2;
  v[SLICES] = wanted_slices(problem, facts, out);
  if (!valid(out, problem, facts)) v[SLICES] = 1;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!cvy_ocl_fits_int(problem, reason)) return false;
  double phases = (double)problem->conv.stride[0] * (double)problem->conv.stride[1] *
                  (double)problem->conv.stride[2];
  if (phases < 2 || phases > 8 || cvy_filter_volume(problem) > MOST_TAPS) {
    cvy_text_add(reason, "a stride of %.0f positions and %lld taps; takes 2 to 8 and at most %d",
                 phases, (long long)cvy_filter_volume(problem), MOST_TAPS);
    return false;
  }
  if (shifts_of(problem) > MOST_TAPS) {
    cvy_text_add(reason, "its taps reach over %lld positions, takes %d",
                 (long long)shifts_of(problem), MOST_TAPS);
    return false;
  }
  cvy_params params;
  defaults(problem, facts, &params);
  if (valid(&params, problem, facts)) return true;
  cvy_text_add(reason, "needs %lld bytes of local memory of %lld, or counts beyond 32 bits",
               (long long)local_bytes(problem, params.value), (long long)facts->local_memory_bytes);
  return false;
}

/* A single tap leaves it nothing to share: the product is better made without the stride. */
static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  return facts->info.type != CONVOY_DEVICE_CPU && cvy_filter_volume(problem) > 1;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)facts;
  return cvy_ocl_strided_data_plan_for(problem, params).scratch * (int64_t)sizeof(float);
}

const cvy_algorithm cvy_ocl_strided_data = {
    .name = "ocl.strided_data",
    .operations = CVY_OPERATION_BIT(CVY_CONV_BACKWARD_DATA),
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << SLICES,
    .defaults = defaults,
    .valid = valid,
    .pays = pays,
};
