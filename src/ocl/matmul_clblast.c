/* ocl.matmul_clblast: CLBlast makes one product after the other. */
#include "ocl/matmul_clblast.h"
#include "ocl/clblast.h"
#include "ocl/matmul.h"

#define LEAST 4 /* rows, columns and terms: with fewer a product moves more than it computes */

int64_t cvy_ocl_matmul_clblast_scratch(const cvy_problem *problem) {
  const cvy_matmul_problem p = cvy_matmul_folded(problem);
  return cvy_ocl_clblast_scratch(p.m, p.n, p.k);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  const cvy_matmul_problem p = cvy_matmul_folded(problem);
  int64_t largest = cvy_ocl_matmul_largest(problem);
  if (!cvy_ocl_clblast_runs(facts, reason)) return false;
  if (p.m < LEAST || p.n < LEAST || p.k < LEAST) {
    cvy_text_add(reason,
                 "%lld by %lld by %lld is too thin for CLBlast, at least %d of each are not",
                 (long long)p.m, (long long)p.k, (long long)p.n, LEAST);
    return false;
  }
  if (largest > CVY_OCL_MOST_FLOATS) {
    cvy_text_add(reason, "an array of %lld elements needs 64-bit indices, it has 32-bit ones",
                 (long long)largest);
    return false;
  }
  int64_t floats = cvy_ocl_matmul_clblast_scratch(problem);
  if (cvy_ocl_fits_scratch(floats, facts)) return true;
  cvy_text_add(reason, "CLBlast needs %lld bytes of workspace, the limit is %lld",
               (long long)floats * (long long)sizeof(float),
               (long long)cvy_ocl_scratch_limit(facts));
  return false;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)facts;
  (void)params;
  return cvy_ocl_matmul_clblast_scratch(problem) * (int64_t)sizeof(float);
}

const cvy_algorithm cvy_ocl_matmul_clblast = {
    .name = "ocl.matmul_clblast",
    .operations = CVY_OPERATION_BIT(CVY_MATMUL),
    .serves = cvy_ocl_clblast_runs,
    .accepts = accepts,
    .workspace = workspace,
    .conservative = true,
};
