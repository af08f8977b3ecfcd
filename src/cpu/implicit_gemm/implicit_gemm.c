/* cpu.implicit_gemm: convolution as matrix products on the engine's own microkernel, straight from
 * the arrays as they lie. */
#include "cpu/implicit_gemm/backward_weights.h"
#include "cpu/implicit_gemm/maps.h"
#include "cpu/shared/blas_choice.h"
#include "cpu/shared/merge.h"
#include "cpu/shared/pointwise.h"
#include "cpu/shared/workspace.h"
#include "problem/conv/conv.h"

#define LONG_ROW 256 /* floats */

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

/* Whether it is a sum of a few long rows, or of their products: a pointwise filter with one channel
 * on one side, of which a tile would leave most rows idle. cpu.direct walks rows as they lie, and
 * its sums are a chain of so many terms at most as a block has. */
static bool is_of_rows(const cvy_problem *problem) {
  cvy_problem p = cvy_merged(problem);
  int64_t channels = p.conv.c / p.conv.groups, outputs = p.conv.k / p.conv.groups;
  return cvy_is_pointwise(&p) && cvy_min(channels, outputs) == 1 &&
         cvy_max(channels, outputs) <= CVY_SUM_TERMS && p.conv.out[2] >= LONG_ROW;
}

static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  if (is_of_rows(problem)) return false;
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
