/* Judging results. Comparisons are written so that a NaN fails. */
#include "core/verify/check.h"
#include "problem/conv/conv.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A large result is probed in whole cache lines: what a probe costs is fetching its line. */
enum { LINE = 16, LINES = 128, ZERO_SAMPLES = 16, NONFINITE_SAMPLES = 4 };

/* Devices may flush denormals, of operands too: that much per term is no lie. */
#define DENORMALS 1e-30
/* Beyond this a sum may overflow or not, depending on its order. */
#define TOO_LARGE ((double)FLT_MAX / 4)

static uint64_t mix(uint64_t seed, int64_t number) {
  return cvy_hash(cvy_hash(0, &seed, sizeof seed), &number, sizeof number);
}

/* ---------------------------------------------------------------------------- which elements */

static void add(cvy_samples *samples, int64_t index) {
  if (samples->count < CVY_MOST_SAMPLES) samples->index[samples->count++] = index;
}

void cvy_sample_any(int64_t elements, int32_t count, uint64_t seed, cvy_samples *samples) {
  for (int32_t i = 0; i < count && elements > 0; i++) {
    add(samples, (int64_t)(mix(seed, i) % (uint64_t)elements));
  }
}

void cvy_sample_suspects(const float *result, int64_t count, uint64_t seed, cvy_samples *samples) {
  int64_t lines = (count + LINE - 1) / LINE, step = (lines + LINES - 1) / LINES;
  int64_t first = step > 1 ? (int64_t)(mix(seed, -1) % (uint64_t)step) : 0;
  int nonfinite = 0;
  bool zero = true;
  for (int64_t line = first; line < lines; line += step) {
    for (int64_t i = line * LINE; i < (line + 1) * LINE && i < count; i++) {
      zero = zero && result[i] == 0.0f;
      if (fabsf(result[i]) <= FLT_MAX || nonfinite == NONFINITE_SAMPLES) continue;
      add(samples, i);
      nonfinite++;
    }
  }
  if (zero) cvy_sample_any(count, ZERO_SAMPLES, mix(seed, -2), samples);
}

void cvy_sample_corners(const cvy_problem *p, cvy_samples *samples) {
  const int64_t extents[][5] = {
      [CVY_X] = {p->conv.n, p->conv.c, p->conv.in[0], p->conv.in[1], p->conv.in[2]},
      [CVY_W] = {p->conv.k, p->conv.c / p->conv.groups, p->conv.filter[0], p->conv.filter[1],
                 p->conv.filter[2]},
      [CVY_Y] = {p->conv.n, p->conv.k, p->conv.out[0], p->conv.out[1], p->conv.out[2]},
      [CVY_BIAS] = {1, 1, 1, 1, cvy_conv_count(p, CVY_BIAS)},
  };
  const int64_t *extent = extents[cvy_conv_operands_of(p).out];
  for (int corner = 0; corner < 32; corner++) {
    int64_t index = 0;
    for (int axis = 0; axis < 5; axis++) {
      index = index * extent[axis] + (corner >> axis & 1 ? extent[axis] - 1 : 0);
    }
    add(samples, index);
  }
}

/* ------------------------------------------------------------------------------ single elements */

static double bound_of(const cvy_problem *problem, double magnitude) {
  return cvy_problem_bound(problem, magnitude) +
         DENORMALS * ((double)cvy_problem_terms(problem) + 2.0);
}

/* What the row that made the element may err beyond `bound`, which most of its results keep. */
static double widened(const cvy_claim *claim, int64_t index, double bound) {
  const cvy_algorithm *row = claim->row;
  if (!row || !(row->error_growth > 0)) return bound;
  double magnitude = cvy_conv_wide_magnitude(claim->problem, &claim->from, index, row->error_reach);
  return bound + row->error_growth * bound_of(claim->problem, magnitude);
}

static bool all_finite(const float *values, int64_t count) {
  for (int64_t i = 0; values && i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

typedef enum kind { UNKNOWN, FINITE, NOT_FINITE } kind;

/* Padding counts as zero, and zero times infinity is no number; transforms mix neighbours. Where an
 * operand is not finite, a result that is not proves nothing. */
static bool may_be_lost(const cvy_claim *claim, kind *operands) {
  const cvy_problem *p = claim->problem;
  cvy_conv_operands of = cvy_conv_operands_of(p);
  if (*operands == UNKNOWN)
    *operands = all_finite(claim->from.in[0], cvy_conv_count(p, of.a)) &&
                        (!of.has_b || all_finite(claim->from.in[1], cvy_conv_count(p, of.b)))
                    ? FINITE
                    : NOT_FINITE;
  return *operands == NOT_FINITE;
}

static bool is_right(const cvy_claim *claim, int64_t index, kind *operands, cvy_mismatch *out) {
  cvy_element wanted = cvy_problem_element(claim->problem, &claim->from, 0, index);
  double bound = bound_of(claim->problem, wanted.magnitude);
  double got = (double)claim->result[index], error = fabs(got - wanted.value);
  if (!(wanted.magnitude <= TOO_LARGE) || error <= bound) return true;
  bound = widened(claim, index, bound);
  if (error <= bound || (!isfinite(got) && may_be_lost(claim, operands))) return true;
  *out = (cvy_mismatch){index, got, wanted.value, bound};
  return false;
}

bool cvy_check_samples(const cvy_claim *claim, const cvy_samples *samples, cvy_mismatch *out) {
  kind operands = UNKNOWN;
  for (int32_t i = 0; i < samples->count; i++) {
    if (!is_right(claim, samples->index[i], &operands, out)) return false;
  }
  return true;
}

/* --------------------------------------------------------------------------------- whole arrays */

static convoy_status run_cpu(cvy_chooser *chooser, const cvy_engine *cpu,
                             const cvy_problem *problem, const cvy_values *from, float *out) {
  cvy_choice choice;
  cvy_engine strict = *cpu;
  strict.strict = true;
  convoy_status status = cvy_choose(chooser, &strict, problem, &choice);
  if (status) return status;
  cvy_job job = {.problem = *problem,
                 .algorithm = choice.row,
                 .params = choice.params,
                 .in[0].host = (float *)(uintptr_t)from->in[0],
                 .in[1].host = (float *)(uintptr_t)from->in[1],
                 .in[2].host = (float *)(uintptr_t)from->in[2],
                 .out[0].host = out};
  return cpu->backend->run(cpu->device, &job, NULL);
}

/* The operands' absolute values. */
typedef struct absolutes {
  float *a, *b, *bias;
} absolutes;

/* Absolute values; false if memory ran out. */
static bool copy_absolute(const float *from, int64_t count, float **out) {
  if (!from) return true;
  *out = malloc((size_t)count * sizeof(float));
  if (!*out) return false;
  for (int64_t i = 0; i < count; i++) (*out)[i] = fabsf(from[i]);
  return true;
}

static bool make_absolutes(const cvy_problem *p, const cvy_values *from, absolutes *out) {
  cvy_conv_operands operands = cvy_conv_operands_of(p);
  return copy_absolute(from->in[0], cvy_conv_count(p, operands.a), &out->a) &&
         copy_absolute(from->in[1], cvy_conv_count(p, operands.b), &out->b) &&
         copy_absolute(from->in[2], cvy_conv_count(p, CVY_BIAS), &out->bias);
}

/* The values, and the sums of absolute values: the same problem on absolute operands. */
static convoy_status compute(cvy_chooser *chooser, const cvy_engine *cpu, const absolutes *s,
                             cvy_expected *out) {
  cvy_problem linear = out->problem;
  linear.conv.activation = CONVOY_IDENTITY;
  linear.conv.slope = 0.0f;
  const float *prior =
      out->problem.accumulate ? out->from.in[cvy_problem_inputs(&out->problem)] : NULL;
  for (int64_t i = 0; prior && i < out->count; i++) out->magnitude[i] = fabsf(prior[i]);
  if (prior) memcpy(out->value, prior, (size_t)out->count * sizeof(float));
  convoy_status status = run_cpu(chooser, cpu, &out->problem, &out->from, out->value);
  if (status) return status;
  cvy_values absolute = {{s->a, s->b, s->bias}};
  return run_cpu(chooser, cpu, &linear, &absolute, out->magnitude);
}

convoy_status cvy_expect(cvy_chooser *chooser, const cvy_engine *cpu, const cvy_problem *problem,
                         const cvy_values *from, cvy_expected *out) {
  absolutes s = {NULL, NULL, NULL};
  *out = (cvy_expected){.problem = *problem, .from = *from};
  out->count = cvy_conv_count(problem, cvy_conv_operands_of(problem).out);
  out->value = calloc((size_t)out->count, sizeof(float));
  out->magnitude = calloc((size_t)out->count, sizeof(float));
  convoy_status status = out->value && out->magnitude && make_absolutes(problem, from, &s)
                             ? compute(chooser, cpu, &s, out)
                             : cvy_fail(CONVOY_ERR_MEMORY, "no host memory to verify %lld elements",
                                        (long long)out->count);
  float *const all[] = {s.a, s.b, s.bias};
  for (size_t i = 0; i < CVY_COUNT(all); i++) free(all[i]);
  if (status) cvy_expected_free(out);
  return status;
}

/* The engine's own rounding takes at most a quarter of the bound, so what is within half of it is
 * right; of the rest the element by its definition decides. */
bool cvy_expected_matches(const cvy_expected *expected, const cvy_algorithm *row,
                          const float *result, cvy_mismatch *out) {
  cvy_claim claim = {&expected->problem, expected->from, result, row};
  kind operands = UNKNOWN;
  for (int64_t i = 0; i < expected->count; i++) {
    double magnitude = (double)expected->magnitude[i];
    double bound = bound_of(&expected->problem, magnitude);
    double difference = fabs((double)result[i] - (double)expected->value[i]);
    if (difference <= 0.5 * bound || !(magnitude <= TOO_LARGE)) continue;
    if (!is_right(&claim, i, &operands, out)) return false;
  }
  return true;
}

void cvy_expected_free(cvy_expected *expected) {
  free(expected->value);
  free(expected->magnitude);
  expected->value = expected->magnitude = NULL;
}

convoy_status cvy_check_whole(cvy_chooser *chooser, const cvy_engine *cpu, const cvy_claim *claim,
                              bool *right, cvy_mismatch *out) {
  cvy_expected expected;
  convoy_status status = cvy_expect(chooser, cpu, claim->problem, &claim->from, &expected);
  if (status) return status;
  *right = cvy_expected_matches(&expected, claim->row, claim->result, out);
  cvy_expected_free(&expected);
  return CONVOY_OK;
}
