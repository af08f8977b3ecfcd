/* cpu.matmul_blas: blocks of the result by OpenBLAS, each on one thread. */
#include <string.h>

#include "cpu/blas/gemm.h"
#include "cpu/matmul/matmul.h"

#define MOST 512    /* rows and columns of a block, so that threads have enough of them */
#define TERMS 16384 /* that a call sums up at most, so that none takes seconds */

typedef struct blas_run {
  const cvy_cpu_call *call;
  cvy_cpu_matmul_plan plan;
} blas_run;

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  const cvy_matmul_problem p = cvy_matmul_folded(problem);
  int64_t pitch = cvy_max(cvy_cpu_matmul_a_pitch(&p), cvy_cpu_matmul_b_pitch(&p));
  (void)facts;
  if (cvy_max(pitch, p.n) <= CVY_GEMM_LARGEST) return true;
  cvy_text_add(reason, "rows of %lld elements are too long for BLAS",
               (long long)cvy_max(pitch, p.n));
  return false;
}

/* Some terms of one product. */
static void add_terms(const blas_run *run, const cvy_cpu_matmul_block *block, int64_t product,
                      cvy_range terms, bool add) {
  const cvy_matmul_problem *p = &run->plan.p;
  int64_t a_pitch = cvy_cpu_matmul_a_pitch(p), b_pitch = cvy_cpu_matmul_b_pitch(p);
  const float *a = block->a + product * cvy_matmul_a_step(p);
  const float *b = block->b + product * cvy_matmul_b_step(p);
  a += terms.begin * (p->a_transposed ? a_pitch : 1);
  b += terms.begin * (p->b_transposed ? 1 : b_pitch);
  cvy_gemm(block->rows, block->columns, cvy_range_length(terms),
           (cvy_matrix){a, a_pitch, p->a_transposed}, (cvy_matrix){b, b_pitch, p->b_transposed},
           add, block->y, p->n);
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const blas_run *run = arg;
  cvy_cut terms = cvy_cut_by(run->plan.p.k, TERMS);
  (void)slot;
  for (int64_t i = begin; i < end; i++) {
    cvy_cpu_matmul_block block = cvy_cpu_matmul_block_at(&run->plan, run->call, i);
    bool add = run->plan.accumulate;
    for (int64_t product = 0; product < block.products; product++) {
      for (int64_t t = 0; t < terms.count; t++, add = true)
        add_terms(run, &block, product, cvy_cut_part(terms, run->plan.p.k, t), add);
    }
  }
}

static void run(const cvy_cpu_call *call) {
  blas_run self = {call, cvy_cpu_matmul_plan_for(call->problem, call->facts, MOST, MOST)};
  int64_t bytes = cvy_problem_output_bytes(call->problem, 0);
  if (self.plan.p.k == 0) {
    if (!self.plan.accumulate) memset(call->out[0], 0, (size_t)bytes);
    return;
  }
  cvy_parallel_items(call->threads, self.plan.blocks, make_blocks, &self);
}

const cvy_cpu_row cvy_cpu_matmul_blas = {{.name = "cpu.matmul_blas",
                                          .operations = CVY_OPERATION_BIT(CVY_MATMUL),
                                          .accepts = accepts,
                                          .conservative = true},
                                         run};
