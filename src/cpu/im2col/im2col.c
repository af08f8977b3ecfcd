/* cpu.im2col: convolution as a matrix product by OpenBLAS, on blocks of columns that stay in
 * cache. */
#include "cpu/im2col/im2col.h"
#include "cpu/shared/blas_choice.h"
#include "cpu/shared/workspace.h"
#include "problem/conv/conv.h"

/* Products of up to so many multiply-adds OpenBLAS makes without packing its operands first. That
 * is worth smaller blocks where these still hold LEAST_UNPACKED outputs. Measured on AVX-512, like
 * USUAL_BLOCK. */
#define UNPACKED 1000000
#define LEAST_UNPACKED 64
#define USUAL_BLOCK 512

static const cvy_param params[] = {{"PIXELS", {16, 32, 64, 128, 256, 512, 1024, 2048, 4096}},
                                   {NULL, {0}}};

static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  int64_t taps = cvy_filter_volume(problem), rows = problem->conv.c / problem->conv.groups * taps;
  int64_t unpacked = UNPACKED / rows / (problem->conv.k / problem->conv.groups);
  bool pays = problem->operation == CONVOY_FORWARD || taps == 1;
  (void)facts;
  *out = (cvy_params){{USUAL_BLOCK}};
  if (!pays || unpacked < LEAST_UNPACKED) return;
  out->value[0] = LEAST_UNPACKED;
  while (out->value[0] < 2048 && out->value[0] <= unpacked / 2) out->value[0] *= 2;
}

static bool fits_blas(const cvy_cpu_im2col_plan *plan) {
  return plan->pixels <= CVY_GEMM_LARGEST && plan->outputs <= CVY_GEMM_LARGEST &&
         plan->channels <= CVY_GEMM_LARGEST / plan->taps;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  cvy_params some;
  if (!cvy_cpu_blas_runs(facts, reason)) return false;
  defaults(problem, facts, &some);
  cvy_cpu_im2col_plan plan = cvy_cpu_im2col_plan_for(problem, facts, &some);
  if (!fits_blas(&plan)) {
    cvy_text_add(reason, "a matrix of %lld outputs by %lld by %lld is too large for BLAS",
                 (long long)plan.pixels, (long long)plan.outputs,
                 (long long)(plan.channels * plan.taps));
    return false;
  }
  if (plan.outputs < 2 || plan.channels * plan.taps < 2) {
    cvy_text_add(reason,
                 "%lld output channels per group and %lld products per output make no matrix "
                 "product, at least 2 of each do",
                 (long long)plan.outputs, (long long)(plan.channels * plan.taps));
    return false;
  }
  return cvy_cpu_fits(plan.slots * plan.slot_floats * (int64_t)sizeof(float), facts, reason);
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *chosen) {
  cvy_cpu_im2col_plan plan = cvy_cpu_im2col_plan_for(problem, facts, chosen);
  return plan.slots * plan.slot_floats * (int64_t)sizeof(float);
}

static void run(const cvy_cpu_call *call) {
  static void (*const direction[CONVOY_DIRECTIONS])(cvy_cpu_im2col_run *) = {
      [CONVOY_FORWARD] = cvy_cpu_im2col_forward,
      [CONVOY_BACKWARD_DATA] = cvy_cpu_im2col_backward_data,
      [CONVOY_BACKWARD_WEIGHTS] = cvy_cpu_im2col_backward_weights,
  };
  cvy_cpu_im2col_run self = {call,
                             cvy_cpu_im2col_plan_for(call->problem, call->facts, call->params)};
  direction[call->problem->operation](&self);
}

const cvy_cpu_row cvy_cpu_im2col = {{.name = "cpu.im2col",
                                     .operations = CVY_CONV_FILTERED,
                                     .serves = cvy_cpu_blas_runs,
                                     .accepts = accepts,
                                     .workspace = workspace,
                                     .params = params,
                                     .defaults = defaults},
                                    run};
