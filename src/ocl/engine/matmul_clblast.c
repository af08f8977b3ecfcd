/* Runs ocl.matmul_clblast. */
#include "ocl/matmul_clblast.h"

#include "ocl/engine/algorithms.h"
#include "ocl/engine/clblast.h"
#include "ocl/matmul.h"

/* Products that are added up are so in their order. */
static convoy_status multiply(const clblast_products *products, const cvy_problem *problem,
                              const job_arrays *given, const cvy_matmul_problem *p, int64_t i) {
  bool add = problem->accumulate || (p->summed && i > 0);
  clblast_matrix a = {span_behind(given->in[0], i * cvy_matmul_a_step(p)),
                      p->a_transposed ? p->m : p->k, p->a_transposed};
  clblast_matrix b = {span_behind(given->in[1], i * cvy_matmul_b_step(p)),
                      p->b_transposed ? p->k : p->n, p->b_transposed};
  clblast_matrix y = {span_behind(given->out[0], p->summed ? 0 : i * p->m * p->n), p->n, false};
  return clblast_multiply(products, p->m, p->n, p->k, a, b, y, add ? 1.0f : 0.0f);
}

convoy_status run_matmul_clblast(cvy_device *device, const cvy_job *job, const job_arrays *given,
                                 span scratch) {
  const cvy_matmul_problem p = cvy_matmul_folded(&job->problem);
  clblast_products products;
  convoy_status status = clblast_products_open(
      device, scratch, cvy_ocl_matmul_clblast_scratch(&job->problem), &products);
  for (int64_t i = 0; i < p.batch && !status; i++)
    status = multiply(&products, &job->problem, given, &p, i);
  clblast_products_close(&products);
  return status;
}
