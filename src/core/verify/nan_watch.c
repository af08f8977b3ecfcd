/* Looks for values that are not finite. A float32 is one of them if all bits of its exponent are
 * set; asking the bits is immune to the compiler's mathematics and as fast as memory. */
#include "core/verify/nan_watch.h"
#include "problem/conv/conv.h"

#include <string.h>

static const uint32_t exponent = 0x7f800000;
enum { BLOCK = 1024 }; /* elements between two looks at the result */

static bool block_is_finite(const float *values, int64_t count) {
  uint32_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof(bits));
    found |= (bits & exponent) == exponent;
  }
  return !found;
}

/* Index of the first value that is not finite, -1 if there is none. */
static int64_t find(const float *values, int64_t count) {
  for (int64_t at = 0; at < count; at += BLOCK) {
    int64_t most = count - at < BLOCK ? count - at : BLOCK;
    if (block_is_finite(values + at, most)) continue;
    while (block_is_finite(values + at, 1)) at++;
    return at;
  }
  return -1;
}

/* What the operands of a problem are called, in the order of cvy_op_input. */
static const char *const roles[CONVOY_DIRECTIONS][CVY_OP_INPUTS] = {
    [CONVOY_FORWARD] = {"x", "w", "bias", "y"},
    [CONVOY_BACKWARD_DATA] = {"dy", "w", "bias", "dx"},
    [CONVOY_BACKWARD_WEIGHTS] = {"x", "dy", "bias", "dw"},
    [CONVOY_BACKWARD_BIAS] = {"dy", "", "bias", "db"},
};
enum { RESULT = CVY_OP_INPUTS - 1 }; /* what is added to has the result's name */

static cvy_conv_array array_of(const cvy_problem *problem, int role) {
  cvy_conv_operands operands = cvy_conv_operands_of(problem);
  const cvy_conv_array arrays[CVY_OP_INPUTS] = {operands.a, operands.b, CVY_BIAS, operands.out};
  return arrays[role];
}

static void look(convoy_context *context, const cvy_problem *problem, int role,
                 const float *values) {
  if (context->nonfinite_seen) return;
  int64_t at = find(values, cvy_conv_count(problem, array_of(problem, role)));
  if (at < 0) return;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, text, sizeof(text));
  context->nonfinite_seen = true;
  cvy_report(context, CONVOY_EVENT_NONFINITE, CONVOY_OK, "",
             "%s[%lld] is %g, the first value that is not finite: step %lld, %s, %s",
             roles[problem->operation][role], (long long)at, (double)values[at],
             (long long)context->step, cvy_context_engine(context)->facts.info.id, text);
}

static bool watching(const convoy_context *context) {
  return context->options.nan_watch && !context->nonfinite_seen;
}

void cvy_watch_arrays(convoy_context *context, const cvy_problem *problem,
                      const float *const arrays[CVY_OP_INPUTS]) {
  if (!watching(context)) return;
  for (int role = 0; role < CVY_OP_INPUTS; role++) {
    if (arrays[role]) look(context, problem, role, arrays[role]);
  }
}

void cvy_watch_inputs(convoy_context *context, const cvy_op *op) {
  const float *arrays[CVY_OP_INPUTS] = {NULL};
  if (!watching(context)) return;
  for (int role = 0; role < CVY_OP_INPUTS; role++) {
    cvy_store *input = cvy_op_input(op, role);
    if (!input || !input->host || input->watched) continue;
    arrays[role] = input->host;
    input->watched = true;
  }
  cvy_watch_arrays(context, &op->problem, arrays);
}

void cvy_watch_result(convoy_context *context, const cvy_problem *problem, const float *values) {
  if (watching(context)) look(context, problem, RESULT, values);
}
