/* cpu.inner_products: backward_weights as inner products of rows of dy with shifted rows of x. */
#include "cpu/inner_products/inner_products.h"
#include "cpu/shared/blas_choice.h"
#include "cpu/shared/workspace.h"
#include "problem/conv/conv.h"

#define LEAST_CHANNELS 64 /* in and out of 1x1 */
#define LARGE_SUMS 1024   /* for each place: memory is read and written for sums, not for rows */
#define LEAST_PLACES 256  /* for which rows are long enough */
#define MOST_STRIDE 2     /* elements of rows with more are gathered one by one */
/* Channels times taps of a filter row, of which other algorithms would leave most of a vector
 * idle. */
#define FEW_COLUMNS 32

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)params;
  cvy_cpu_inner_products_plan plan = cvy_cpu_inner_products_plan_for(problem, facts);
  return cvy_cpu_inner_products_bytes(&plan);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (problem->conv.c / problem->conv.groups == 1 && problem->conv.k / problem->conv.groups == 1) {
    cvy_text_add(reason, "one channel in, one out per group make no matrix product");
    return false;
  }
  return cvy_cpu_fits(workspace(problem, facts, NULL), facts, reason);
}

/* It pays for 1x1 where nothing need be copied, or little beside the sums, and for first layers.
 * This was measured. */
static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  cvy_cpu_inner_products_plan plan = cvy_cpu_inner_products_plan_for(problem, facts);
  if (plan.taps > 1) {
    return plan.prefetches && plan.p.conv.stride[2] <= MOST_STRIDE &&
           plan.channels * plan.p.conv.filter[2] < FEW_COLUMNS;
  }
  int64_t sums = plan.channels * plan.outputs, places = plan.p.conv.n * cvy_out_volume(&plan.p);
  bool lies = plan.rows == CVY_ROWS_AS_THEY_LIE;
  bool many = plan.channels >= LEAST_CHANNELS && plan.outputs >= LEAST_CHANNELS;
  return many && places >= LEAST_PLACES && (lies || sums / LARGE_SUMS > places) &&
         !cvy_cpu_blas_is_faster(problem, facts);
}

const cvy_cpu_row cvy_cpu_inner_products = {
    {.name = "cpu.inner_products",
     .operations = CVY_OPERATION_BIT(CVY_CONV_BACKWARD_WEIGHTS),
     .accepts = accepts,
     .workspace = workspace,
     .pays = pays},
    cvy_cpu_inner_products_run};
