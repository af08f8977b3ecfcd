/* Runs ocl.matmul_clblast. */
#include "ocl/matmul_clblast.h"

#include "ocl/engine/algorithms.h"
#include "ocl/engine/clblast.h"
#include "ocl/matmul.h"

/* Products that are added up are so in their order. */
static convoy_status multiply(const clblast_products *products, const cvy_problem *problem,
                              const job_arrays *given, const cvy_matmul_products *of, int64_t i) {
  const cvy_matmul_problem *p = &of->p;
  bool add = problem->accumulate || (p->summed && i > 0);
  clblast_matrix a = {span_behind(given->in[0], i * of->a.step), of->a.row, p->a_transposed};
  clblast_matrix b = {span_behind(given->in[1], i * of->b.step), of->b.row, p->b_transposed};
  clblast_matrix y = {span_behind(given->out[0], i * of->y.step), of->y.row, false};
  return clblast_multiply(products, p->m, p->n, p->k, a, b, y, add ? 1.0f : 0.0f);
}

convoy_status run_matmul_clblast(cvy_device *device, const cvy_job *job, const job_arrays *given,
                                 span scratch) {
  const cvy_matmul_products of = cvy_matmul_products_of(&job->problem);
  clblast_products products;
  convoy_status status = clblast_products_open(
      device, scratch, cvy_ocl_matmul_clblast_scratch(&job->problem), &products);
  for (int64_t i = 0; i < of.p.batch && !status; i++)
    status = multiply(&products, &job->problem, given, &of, i);
  clblast_products_close(&products);
  return status;
}
