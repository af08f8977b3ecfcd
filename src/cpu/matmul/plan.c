/* How the results of products are cut. Sums are not: a few long ones keep few threads busy. */
#include "cpu/matmul/matmul.h"

#define LEAST 48 /* rows or columns: smaller blocks load too much for what they compute */
#define PIECES_PER_THREAD 4 /* from here on the threads end at about the same time */

static int64_t results_of(const cvy_matmul_problem *p) {
  return p->summed ? 1 : p->batch;
}

static int64_t count(const cvy_cpu_matmul_plan *plan) {
  return results_of(&plan->of.p) * plan->rows.count * plan->columns.count;
}

static cvy_cut half(int64_t whole, cvy_cut cut, int64_t unit) {
  return cvy_cut_by(whole, cvy_align_up(cvy_div_up(cut.size, 2), unit));
}

/* Halves the longer side of the blocks that can be until there are enough. */
cvy_cpu_matmul_plan cvy_cpu_matmul_plan_for(const cvy_problem *problem, const cvy_facts *facts,
                                            int64_t most_rows, int64_t most_columns) {
  cvy_cpu_matmul_plan plan = {.of = cvy_matmul_products_of(problem),
                              .accumulate = problem->accumulate};
  int64_t wanted = (int64_t)facts->info.compute_units, rows = cvy_min(plan.of.p.m, most_rows),
          columns = cvy_min(plan.of.p.n, most_columns);
  if (wanted > 1) wanted *= PIECES_PER_THREAD;
  plan.rows =
      cvy_cut_into(plan.of.p.m, cvy_div_up(plan.of.p.m, cvy_max(rows, 1)), CVY_CPU_MATMUL_TILE);
  plan.columns =
      cvy_cut_into(plan.of.p.n, cvy_div_up(plan.of.p.n, cvy_max(columns, 1)), CVY_CPU_MATMUL_STRIP);
  while (count(&plan) < wanted) {
    bool fewer_rows = plan.rows.size >= 2 * LEAST, fewer_columns = plan.columns.size >= 2 * LEAST;
    if (!fewer_rows && !fewer_columns) break;
    if (fewer_rows && (plan.rows.size > plan.columns.size || !fewer_columns))
      plan.rows = half(plan.of.p.m, plan.rows, CVY_CPU_MATMUL_TILE);
    else
      plan.columns = half(plan.of.p.n, plan.columns, CVY_CPU_MATMUL_STRIP);
  }
  plan.blocks = count(&plan);
  return plan;
}

cvy_cpu_matmul_block cvy_cpu_matmul_block_at(const cvy_cpu_matmul_plan *plan,
                                             const cvy_cpu_call *call, int64_t number) {
  const cvy_matmul_products *of = &plan->of;
  const cvy_matmul_problem *p = &of->p;
  int64_t result = number / plan->rows.count / plan->columns.count;
  cvy_range rows = cvy_cut_part(plan->rows, p->m, number / plan->columns.count % plan->rows.count);
  cvy_range columns = cvy_cut_part(plan->columns, p->n, number % plan->columns.count);
  const float *a = call->in[0] + result * of->a.step;
  const float *b = call->in[1] + result * of->b.step;
  return (cvy_cpu_matmul_block){
      .a = a + rows.begin * (p->a_transposed ? 1 : of->a.row),
      .b = b + columns.begin * (p->b_transposed ? of->b.row : 1),
      .y = call->out[0] + result * of->y.step + rows.begin * of->y.row + columns.begin,
      .rows = cvy_range_length(rows),
      .columns = cvy_range_length(columns),
      .products = p->summed ? p->batch : 1,
  };
}
