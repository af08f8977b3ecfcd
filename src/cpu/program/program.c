/* cpu.program and cpu.reduce: elementwise programs and their reductions over arrays. They take
 * every legal problem, and there are no others for these operations. */
#include "cpu/program/apply.h"
#include "cpu/program/reduce.h"
#include "cpu/row.h"

static int64_t program_workspace(const cvy_problem *problem, const cvy_facts *facts,
                                 const cvy_params *params) {
  (void)params;
  return cvy_program_apply_workspace(&problem->program, facts->info.compute_units);
}

static void run_program(const cvy_cpu_call *call) {
  cvy_program_call arrays = {.problem = &call->problem->program,
                             .threads = call->threads,
                             .simd = cvy_program_simd_best(),
                             .workspace = call->workspace};
  for (int i = 0; i < CVY_PROGRAM_INPUTS; i++) arrays.in[i] = call->in[i];
  for (int k = 0; k < CVY_PROGRAM_RESULTS; k++) arrays.out[k] = call->out[k];
  cvy_program_apply_arrays(&arrays);
}

const cvy_cpu_row cvy_cpu_program = {
    .algorithm = {.name = "cpu.program",
                  .operations = CVY_OPERATION_BIT(CVY_PROGRAM),
                  .workspace = program_workspace,
                  .conservative = true},
    .run = run_program,
};

static int64_t reduce_workspace(const cvy_problem *problem, const cvy_facts *facts,
                                const cvy_params *params) {
  (void)params;
  return cvy_reduce_arrays_workspace(&problem->reduce, facts->info.compute_units);
}

static void run_reduce(const cvy_cpu_call *call) {
  cvy_reduce_call arrays = {.problem = &call->problem->reduce,
                            .threads = call->threads,
                            .simd = cvy_program_simd_best(),
                            .workspace = call->workspace};
  for (int i = 0; i < CVY_PROGRAM_INPUTS; i++) arrays.in[i] = call->in[i];
  for (int k = 0; k < CVY_PROGRAM_RESULTS; k++) arrays.out[k] = call->out[k];
  cvy_reduce_arrays(&arrays);
}

const cvy_cpu_row cvy_cpu_reduce = {
    .algorithm = {.name = "cpu.reduce",
                  .operations = CVY_OPERATION_BIT(CVY_REDUCE),
                  .workspace = reduce_workspace,
                  .conservative = true},
    .run = run_reduce,
};
