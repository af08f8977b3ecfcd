/* cpu.implicit_gemm: convolution as matrix products on the engine's own microkernel, straight from
 * the arrays as they lie. */
#include "cpu/implicit_gemm/backward_weights.h"
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/blas_choice.h"
#include "cpu/shared/workspace.h"
#include "problem/conv/conv.h"

static bool for_weights(const cvy_problem *problem) {
  return problem->operation == CONVOY_BACKWARD_WEIGHTS;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)params;
  if (for_weights(problem)) return cvy_cpu_implicit_gemm_weights_bytes(problem, facts);
  cvy_cpu_implicit_gemm_maps_plan plan = cvy_cpu_implicit_gemm_maps_plan_for(problem, facts);
  return cvy_cpu_implicit_gemm_maps_bytes(&plan);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  bool takes = for_weights(problem) ? cvy_cpu_implicit_gemm_takes_weights(problem, reason)
                                    : cvy_cpu_implicit_gemm_takes_map(problem, reason);
  if (!takes) return false;
  return cvy_cpu_fits(workspace(problem, facts, NULL), facts, reason);
}

static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  bool weak = !for_weights(problem) && cvy_cpu_implicit_gemm_packs_in_vain(problem);
  return !cvy_cpu_blas_is_faster(problem, facts) && !(weak && cvy_cpu_blas_serves(problem, facts));
}

static void run(const cvy_cpu_call *call) {
  if (for_weights(call->problem))
    cvy_cpu_implicit_gemm_weights(call);
  else
    cvy_cpu_implicit_gemm_maps(call);
}

const cvy_cpu_row cvy_cpu_implicit_gemm = {{.name = "cpu.implicit_gemm",
                                            .operations = CVY_CONV_FILTERED,
                                            .accepts = accepts,
                                            .workspace = workspace,
                                            .pays = pays},
                                           run};
