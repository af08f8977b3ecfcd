/* What the gradients of all operations have in common. */
#include "problem/gradient.h"

#include <stdio.h>
#include <string.h>

#include "problem/operation.h"

convoy_status cvy_gradient_refuse(const cvy_problem *problem, const char *format, ...) {
  char reason[256], text[CONVOY_PROBLEM_TEXT];
  va_list args;
  va_start(args, format);
  cvy_print(reason, sizeof reason, format, args);
  va_end(args);
  cvy_problem_text(problem, text, sizeof text);
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s: %s", reason, text);
}

cvy_gradient_step *cvy_gradient_add(cvy_gradient *out) {
  return &out->step[out->steps++];
}

cvy_gradient_operand cvy_gradient_result(const cvy_gradient *of, int32_t output) {
  return (cvy_gradient_operand){CVY_GRADIENT_STEP, of->steps - 1, output};
}

/* Of arrays and outputs that there are, and of float32: nothing makes integers of values. */
static convoy_status check(const cvy_problem *problem, uint32_t wanted, uint32_t given) {
  int32_t reads = cvy_problem_reads(problem), outputs = cvy_problem_outputs(problem);
  if (wanted >> reads || given >> outputs) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "gradients for arrays 0x%x of outputs 0x%x are asked for; there are %d and %d",
                    wanted, given, (int)reads, (int)outputs);
  }
  for (int32_t i = 0; i < reads; i++) {
    bool integers = cvy_problem_input(problem, i).dtype != CONVOY_FLOAT32;
    if ((wanted >> i & 1) && integers) {
      return cvy_gradient_refuse(problem, "%s holds integers, which have no gradient",
                                 cvy_problem_input_name(problem, i));
    }
  }
  return CONVOY_OK;
}

/* Gradients are made before places are given. */
static bool has_parts(const cvy_problem *problem) {
  cvy_problem apart;
  cvy_problem_apart(problem, &apart);
  return !cvy_problem_equal(problem, &apart);
}

/* An array without elements needs no gradient. */
static uint32_t without_empty(const cvy_problem *problem, uint32_t wanted) {
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++)
    if (cvy_problem_input_bytes(problem, i) == 0) wanted &= ~(1u << i);
  return wanted;
}

/* What is added to output 0 has its gradient. A row that does more to the sum says so instead. */
static void pass_prior(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                       cvy_gradient *out) {
  int32_t last = cvy_problem_inputs(problem);
  if (problem->accumulate && (wanted >> last & 1) && (given & 1))
    out->of[last] = (cvy_gradient_operand){CVY_GRADIENT_OF_OUTPUT, 0, 0};
}

convoy_status cvy_problem_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                   cvy_gradient *out) {
  const cvy_operation *row = cvy_operation_of(problem);
  memset(out, 0, sizeof *out);
  convoy_status status = check(problem, wanted, given);
  if (status) return status;
  wanted = without_empty(problem, wanted);
  if (!wanted || !given) return CONVOY_OK;
  if (!row->gradient) return cvy_gradient_refuse(problem, "%s has no gradient", row->name);
  if (has_parts(problem))
    return cvy_gradient_refuse(problem,
                               "where gradients lie that are parts of larger tensors is "
                               "not known");
  pass_prior(problem, wanted, given, out);
  /* Of no images nothing is computed, so results depend on nothing else. */
  return cvy_problem_empty(problem) ? CONVOY_OK : row->gradient(problem, wanted, given, out);
}
