/* Looks for values that are not finite. A float32 is one of them if all bits of its exponent are
 * set; asking the bits is immune to the compiler's mathematics and as fast as memory. */
#include "core/verify/nan_watch.h"

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

static void look(convoy_context *context, const cvy_problem *problem, const char *name,
                 int64_t bytes, const float *values) {
  if (context->nonfinite_seen) return;
  int64_t at = find(values, bytes / (int64_t)sizeof(float));
  if (at < 0) return;
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, text, sizeof(text));
  context->nonfinite_seen = true;
  cvy_report(context, CONVOY_EVENT_NONFINITE, CONVOY_OK, "",
             "%s[%lld] is %g, the first value that is not finite: step %lld, %s, %s", name,
             (long long)at, (double)values[at], (long long)context->step,
             cvy_context_engine(context)->facts.info.id, text);
}

static void look_at_input(convoy_context *context, const cvy_problem *problem, int32_t i,
                          const float *values) {
  cvy_array array = cvy_problem_input(problem, i);
  if (array.dtype != CONVOY_FLOAT32) return;
  look(context, problem, cvy_problem_input_name(problem, i), cvy_array_bytes(&array), values);
}

static bool watching(const convoy_context *context) {
  return context->options.nan_watch && !context->nonfinite_seen;
}

bool cvy_watch_finds(const convoy_context *context, const float *values, int64_t bytes) {
  return watching(context) && find(values, bytes / (int64_t)sizeof(float)) >= 0;
}

void cvy_watch_given(convoy_context *context, const cvy_problem *problem, const float *const in[],
                     float *const out[]) {
  if (!watching(context)) return;
  int32_t inputs = cvy_problem_inputs(problem), reads = cvy_problem_reads(problem);
  for (int32_t i = 0; i < reads; i++)
    look_at_input(context, problem, i, i < inputs ? in[i] : out[0]);
}

void cvy_watch_inputs(convoy_context *context, const cvy_node *node) {
  if (!watching(context)) return;
  for (int32_t i = 0; i < node->inputs; i++) {
    cvy_store *input = node->input[i];
    if (!input->host || input->watched) continue;
    input->watched = true;
    look_at_input(context, &node->problem, i, input->host);
  }
}

void cvy_watch_result(convoy_context *context, const cvy_problem *problem, int32_t output,
                      const float *values) {
  if (!watching(context)) return;
  look(context, problem, cvy_problem_output_name(problem, output),
       cvy_problem_output_bytes(problem, output), values);
}
