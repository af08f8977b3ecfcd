/* ocl.program: each item computes one element or four neighbours. It takes every program whose
 * operands can be said in the arguments that every device takes, and needs no workspace. */
#include "ocl/program.h"

#include "ocl/plan.h"
#include "ocl/program_kernel.h"

/* Arrays begin at multiples of so many elements at least, whatever their type (cl/conv_args.h). */
#define ALIGNMENT 64

static int64_t farthest(const cvy_facts *facts, convoy_dtype dtype, int64_t count) {
  int64_t most = facts->max_allocation_bytes / cvy_dtype_bytes(dtype);
  return count < most ? (most - count) / ALIGNMENT * ALIGNMENT : 0;
}

void cvy_ocl_farthest_offsets(const cvy_problem *problem, const cvy_facts *facts, int64_t partial,
                              int64_t *offsets) {
  int32_t inputs = cvy_problem_inputs(problem), outputs = cvy_problem_outputs(problem);
  for (int32_t i = 0; i < inputs + outputs; i++) {
    cvy_array array =
        i < inputs ? cvy_problem_input(problem, i) : cvy_problem_output(problem, i - inputs);
    *offsets++ = farthest(facts, array.dtype, cvy_array_reach(&array));
  }
  *offsets = farthest(facts, CONVOY_FLOAT32, partial);
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t offsets[CVY_BLOCK_ARRAYS];
  cvy_ocl_farthest_offsets(problem, facts, 0, offsets);
  return cvy_program_launch_fits(&problem->program, offsets, reason);
}

const cvy_algorithm cvy_ocl_program = {
    .name = "ocl.program",
    .operations = CVY_OPERATION_BIT(CVY_PROGRAM),
    .accepts = accepts,
    .conservative = true,
};
