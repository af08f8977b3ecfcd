/* cpu.matmul_blas: blocks of the result by OpenBLAS, each on one thread. */
#include "cpu/blas/gemm.h"
#include "cpu/matmul/matmul.h"
#include "cpu/shared/blas_choice.h"

#define MOST 512    /* rows and columns of a block, so that threads have enough of them */
#define TERMS 16384 /* that a call sums up at most, so that none takes seconds */

typedef struct blas_run {
  const cvy_cpu_call *call;
  cvy_cpu_matmul_plan plan;
} blas_run;

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  const cvy_matmul_products of = cvy_matmul_products_of(problem);
  int64_t row = cvy_max(cvy_max(of.a.row, of.b.row), of.y.row);
  if (!cvy_cpu_blas_runs(facts, reason)) return false;
  if (row <= CVY_GEMM_LARGEST) return true;
  cvy_text_add(reason, "rows of %lld elements are too long for BLAS", (long long)row);
  return false;
}

/* Where OpenBLAS knows the processor it is a little faster than cpu.matmul. */
static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  (void)problem;
  (void)facts;
  return cvy_gemm_has_width(cvy_simd_best()->microkernel.width);
}

/* Some terms of one product. */
static void add_terms(const blas_run *run, const cvy_cpu_matmul_block *block, int64_t product,
                      cvy_range terms, bool add) {
  const cvy_matmul_products *of = &run->plan.of;
  const float *a = block->a + product * of->a.step, *b = block->b + product * of->b.step;
  a += terms.begin * (of->p.a_transposed ? of->a.row : 1);
  b += terms.begin * (of->p.b_transposed ? 1 : of->b.row);
  cvy_gemm(block->rows, block->columns, cvy_range_length(terms),
           (cvy_matrix){a, of->a.row, of->p.a_transposed},
           (cvy_matrix){b, of->b.row, of->p.b_transposed}, add, block->y, of->y.row);
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const blas_run *run = arg;
  cvy_cut terms = cvy_cut_by(run->plan.of.p.k, TERMS);
  (void)slot;
  for (int64_t i = begin; i < end; i++) {
    cvy_cpu_matmul_block block = cvy_cpu_matmul_block_at(&run->plan, run->call, i);
    bool add = run->plan.accumulate;
    for (int64_t product = 0; product < block.products; product++) {
      for (int64_t t = 0; t < terms.count; t++, add = true)
        add_terms(run, &block, product, cvy_cut_part(terms, run->plan.of.p.k, t), add);
    }
  }
}

static void run(const cvy_cpu_call *call) {
  blas_run self = {call, cvy_cpu_matmul_plan_for(call->problem, call->facts, MOST, MOST)};
  cvy_array y = cvy_problem_output(call->problem, 0);
  if (self.plan.of.p.k == 0) {
    if (!self.plan.accumulate) cvy_array_zero(&y, call->out[0]);
    return;
  }
  cvy_parallel_items(call->threads, self.plan.blocks, make_blocks, &self);
}

const cvy_cpu_row cvy_cpu_matmul_blas = {{.name = "cpu.matmul_blas",
                                          .operations = CVY_OPERATION_BIT(CVY_MATMUL),
                                          .serves = cvy_cpu_blas_runs,
                                          .accepts = accepts,
                                          .pays = pays,
                                          .conservative = true},
                                         run};
