/* ocl.matmul: tiles of the results, each made by a work-group with all of its terms or, where there
 * are too few tiles for all units, with a slice of them. It takes every product, whatever its
 * extents. */
#include "ocl/matmul.h"

enum { BM, BN, BK, TM, TN, SLICES, PARAMS };

/* Terms that are worth a work-group of their own. */
#define LEAST_SLICE 64

static const cvy_param params_list[] = {
    [BM] = {"BM", {4, 16, 32, 64, 128, 0}},
    [BN] = {"BN", {16, 32, 64, 128, 0}},
    [BK] = {"BK", {8, 16, 32, 0}},
    [TM] = {"TM", {4, 8, 0}},
    [TN] = {"TN", {4, 8, 0}},
    [SLICES] = {"SLICES", {1, 2, 4, 8, 16, 32, 64, 0}},
    [PARAMS] = {NULL, {0}},
};

int64_t cvy_ocl_matmul_largest(const cvy_problem *problem) {
  int64_t most = 0;
  for (int32_t i = 0; i < 3; i++) {
    cvy_array array = cvy_problem_input(problem, i); /* the third is the output */
    int64_t reach = cvy_array_reach(&array);
    most = reach > most ? reach : most;
  }
  return most;
}

/* The largest index that a tile at an edge computes with, whether or not it is loaded there. */
static double farthest(const cvy_ocl_matmul_plan *plan) {
  const cvy_matmul_products *of = &plan->of;
  double rows = (double)of->p.m + (double)plan->tile.bm;
  double columns = (double)of->p.n + (double)plan->tile.bn;
  double terms = (double)of->p.k + (double)plan->tile.bk;
  double a = (of->p.a_transposed ? terms : rows) * (double)of->a.row + rows + terms;
  double b = (of->p.b_transposed ? columns : terms) * (double)of->b.row + columns + terms;
  double y = rows * (double)of->y.row + columns;
  return a > b && a > y ? a : b > y ? b : y;
}

/* Partial results have no gaps. They become results whose rows, of all matrices, are equally far
 * apart. */
static bool may_be_cut(const cvy_matmul_products *of) {
  bool single = of->p.batch == 1 || of->p.summed;
  return of->p.m && of->p.n && (single || of->y.step == of->p.m * of->y.row);
}

static void cut_sums(int64_t slices, cvy_ocl_matmul_plan *plan) {
  const cvy_matmul_problem *p = &plan->of.p;
  plan->slices = 1;
  plan->slice_length = p->k;
  if (slices == 1 || p->k == 0 || plan->wide || !may_be_cut(&plan->of)) return;
  plan->slice_length = cvy_ocl_round_up(cvy_ocl_ceil_div(p->k, slices), plan->tile.bk);
  plan->slices = cvy_ocl_ceil_div(p->k, plan->slice_length);
  if (plan->slices > 1) plan->scratch = plan->slices * plan->results;
  plan->work_groups *= plan->slices;
}

cvy_ocl_matmul_plan cvy_ocl_matmul_plan_for(const cvy_problem *problem, const cvy_params *params) {
  const int32_t *v = params->value;
  cvy_ocl_matmul_plan plan = {.of = cvy_matmul_products_of(problem),
                              .tile = {v[BM], v[BN], v[BK], v[TM], v[TN]}};
  plan.items = plan.tile.bm / plan.tile.tm * (plan.tile.bn / plan.tile.tn);
  plan.row_tiles = cvy_ocl_ceil_div(plan.of.p.m, plan.tile.bm);
  plan.column_tiles = cvy_ocl_ceil_div(plan.of.p.n, plan.tile.bn);
  int64_t matrices = plan.of.p.summed ? 1 : plan.of.p.batch;
  plan.work_groups = plan.row_tiles * plan.column_tiles * matrices;
  plan.results = plan.of.p.m * plan.of.p.n * matrices;
  plan.wide = cvy_ocl_matmul_largest(problem) > CVY_OCL_MOST_FLOATS ||
              farthest(&plan) > (double)INT32_MAX || plan.work_groups > INT32_MAX / plan.items;
  cut_sums(v[SLICES], &plan);
  return plan;
}

static int64_t local_bytes(const cvy_params *params) {
  const int32_t *v = params->value;
  return (int64_t)v[BK] * (v[BM] + 4 + v[BN] + 4) * (int64_t)sizeof(float);
}

static bool valid(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts) {
  const int32_t *v = params->value;
  for (int i = 0; i < PARAMS; i++)
    if (v[i] < 1) return false;
  if (v[BM] % v[TM] != 0 || v[BN] % v[TN] != 0) return false;
  if ((int64_t)v[BM] / v[TM] * (v[BN] / v[TN]) > facts->max_work_group) return false;
  if (local_bytes(params) > facts->local_memory_bytes) return false;
  cvy_ocl_matmul_plan plan = cvy_ocl_matmul_plan_for(problem, params);
  return plan.slices == 1 ||
         (plan.work_groups <= INT32_MAX / plan.items && cvy_ocl_fits_scratch(plan.scratch, facts));
}

/* Work-groups of four to a unit, as far as slices are not too short. */
static void choose_slices(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  cvy_ocl_matmul_plan plan = cvy_ocl_matmul_plan_for(problem, out);
  int64_t tiles = plan.work_groups, units = (int64_t)facts->info.compute_units;
  if (tiles == 0 || tiles >= units) return;
  int64_t most = plan.of.p.k / LEAST_SLICE, wanted = 4 * units / tiles;
  out->value[SLICES] = cvy_ocl_listed(&params_list[SLICES], wanted < most ? wanted : most);
  if (!valid(out, problem, facts)) out->value[SLICES] = 1;
}

/* No more of a tile than the result has, and tiles enough for all units, as far as they are not
 * too small. */
static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  *out = (cvy_params){{[BM] = 64, [BN] = 64, [BK] = 16, [TM] = 4, [TN] = 4, [SLICES] = 1}};
  int32_t *v = out->value;
  const cvy_matmul_problem p = cvy_matmul_folded(problem);
  while (v[BM] > 16 && v[BM] / 2 >= p.m) v[BM] /= 2;
  if (p.m <= 4) v[BM] = 4;
  while (v[BN] > 16 && v[BN] / 2 >= p.n) v[BN] /= 2;
  if (v[BM] == 64 && v[BN] == 64 &&
      cvy_ocl_matmul_plan_for(problem, out).work_groups < (int64_t)facts->info.compute_units)
    v[BM] = v[BN] = 32;
  while (!valid(out, problem, facts) && (v[BM] > 16 || v[BN] > 16)) v[v[BM] > v[BN] ? BM : BN] /= 2;
  if (!valid(out, problem, facts)) *out = (cvy_params){{4, 16, 8, 4, 4, 1}};
  choose_slices(problem, facts, out);
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)facts;
  return cvy_ocl_matmul_plan_for(problem, params).scratch * (int64_t)sizeof(float);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  cvy_params params;
  defaults(problem, facts, &params);
  if (valid(&params, problem, facts)) return true;
  cvy_text_add(reason,
               "it needs work-groups of 4 items and %lld bytes of local memory, the device has "
               "%lld and %lld",
               (long long)local_bytes(&params), (long long)facts->max_work_group,
               (long long)facts->local_memory_bytes);
  return false;
}

const cvy_algorithm cvy_ocl_matmul = {
    .name = "ocl.matmul",
    .operations = CVY_OPERATION_BIT(CVY_MATMUL),
    .accepts = accepts,
    .workspace = workspace,
    .params = params_list,
    .launch_params = 1u << SLICES,
    .defaults = defaults,
    .valid = valid,
    .conservative = true,
};
