/* Judging results. Comparisons are written so that a NaN fails. */
#include "core/verify/check.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
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

void cvy_sample_suspects(const cvy_array *array, const float *result, uint64_t seed,
                         cvy_samples *samples) {
  int64_t count = cvy_array_count(array);
  int64_t lines = (count + LINE - 1) / LINE, step = (lines + LINES - 1) / LINES;
  int64_t first = step > 1 ? (int64_t)(mix(seed, -1) % (uint64_t)step) : 0;
  int nonfinite = 0;
  bool zero = true;
  for (int64_t line = first; line < lines; line += step) {
    for (int64_t i = line * LINE; i < (line + 1) * LINE && i < count; i++) {
      float value = result[cvy_array_place(array, i)];
      zero = zero && value == 0.0f;
      if (fabsf(value) <= FLT_MAX || nonfinite == NONFINITE_SAMPLES) continue;
      add(samples, i);
      nonfinite++;
    }
  }
  if (zero) cvy_sample_any(count, ZERO_SAMPLES, mix(seed, -2), samples);
}

void cvy_sample_corners(const cvy_problem *problem, int32_t output, cvy_samples *samples) {
  cvy_array array = cvy_problem_output(problem, output);
  for (int corner = 0; corner < 32; corner++) {
    int64_t index = 0;
    for (int axis = 0; axis < 5; axis++) {
      int64_t extent = array.extent[axis];
      index = index * extent + (corner >> axis & 1 ? extent - 1 : 0);
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
  double magnitude = cvy_operation_of(claim->problem)
                         ->wide_magnitude(claim->problem, &claim->from, index, row->error_reach);
  return bound + row->error_growth * bound_of(claim->problem, magnitude);
}

static bool all_finite(const cvy_array *array, const float *values) {
  int64_t count = cvy_array_count(array);
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(values[cvy_array_place(array, i)])) return false;
  return true;
}

static bool inputs_finite(const cvy_claim *claim) {
  for (int32_t i = 0; i < cvy_problem_inputs(claim->problem); i++) {
    cvy_array array = cvy_problem_input(claim->problem, i);
    if (array.dtype != CONVOY_FLOAT32) continue;
    if (!all_finite(&array, claim->from.in[i])) return false;
  }
  return true;
}

typedef enum kind { UNKNOWN, FINITE, NOT_FINITE } kind;

/* Padding counts as zero, and zero times infinity is no number; transforms mix neighbours. Where an
 * operand is not finite, a result that is not proves nothing, unless it is defined bit for bit. */
static bool may_be_lost(const cvy_claim *claim, kind *operands) {
  if (!cvy_operation_of(claim->problem)->bound) return false;
  if (*operands == UNKNOWN) *operands = inputs_finite(claim) ? FINITE : NOT_FINITE;
  return *operands == NOT_FINITE;
}

static bool is_same(double got, double wanted) {
  return got == wanted || (isnan(got) && isnan(wanted));
}

static bool is_right(const cvy_claim *claim, int64_t index, kind *operands, cvy_mismatch *out) {
  cvy_element wanted = cvy_problem_element(claim->problem, &claim->from, claim->output, index);
  double bound = bound_of(claim->problem, wanted.magnitude);
  cvy_array array = cvy_problem_output(claim->problem, claim->output);
  double got = (double)claim->result[cvy_array_place(&array, index)];
  double error = fmin(fabs(got - wanted.value), fabs(got - wanted.flushed));
  if (is_same(got, wanted.value) || is_same(got, wanted.flushed)) return true;
  if (!(wanted.magnitude <= TOO_LARGE) || error <= bound) return true;
  bound = widened(claim, index, bound);
  if (error <= bound || (!isfinite(got) && may_be_lost(claim, operands))) return true;
  *out = (cvy_mismatch){index, got, wanted.value, bound};
  return false;
}

/* ---------------------------------------------------------------------------- shared by threads
 */

/* Terms and values below which threads take longer to wake than one alone to do it. */
#define WORTH_SHARING 1e6

/* `terms`: what an item of `count` takes. */
static void share(const cvy_engine *cpu, int64_t count, double terms, cvy_range_task *task,
                  void *arg) {
  if ((double)count * terms < WORTH_SHARING)
    task(arg, 0, count);
  else
    cpu->backend->share(cpu->device, count, task, arg);
}

/* Elements of a result, sampled or all; which of them is wrong, the first that is known of. */
typedef struct look {
  const cvy_claim *claim;
  const cvy_samples *samples;
  const cvy_expected *expected;
  _Atomic int64_t wrong;
} look;

static void note_wrong(look *at, int64_t index) {
  int64_t known = atomic_load(&at->wrong);
  while ((known < 0 || index < known) && !atomic_compare_exchange_weak(&at->wrong, &known, index)) {
  }
}

/* Looks at the wrong one again, for what it should have been. */
static bool found_none(look *at, cvy_mismatch *out) {
  kind operands = UNKNOWN;
  return at->wrong < 0 || is_right(at->claim, at->wrong, &operands, out);
}

static void look_at_samples(void *arg, int64_t begin, int64_t end) {
  look *at = arg;
  kind operands = UNKNOWN;
  cvy_mismatch unused;
  for (int64_t i = begin; i < end; i++) {
    int64_t index = at->samples->index[i];
    if (!is_right(at->claim, index, &operands, &unused)) note_wrong(at, index);
  }
}

bool cvy_check_samples(const cvy_claim *claim, const cvy_samples *samples, cvy_mismatch *out) {
  look at = {.claim = claim, .samples = samples, .wrong = -1};
  double terms = (double)cvy_problem_terms(claim->problem);
  share(claim->cpu, samples->count, terms, look_at_samples, &at);
  return found_none(&at, out);
}

/* --------------------------------------------------------------------------------- whole arrays */

static convoy_status run_cpu(cvy_chooser *chooser, const cvy_engine *cpu,
                             const cvy_problem *problem, const float *const in[],
                             float *const out[]) {
  cvy_choice choice;
  cvy_job job;
  cvy_engine strict = *cpu;
  strict.strict = true;
  convoy_status status = cvy_choose(chooser, &strict, problem, &choice);
  if (status) return status;
  cvy_job_set(&job, problem, choice.row, &choice.params);
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++)
    job.in[i].host = (float *)(uintptr_t)in[i];
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) job.out[i].host = out[i];
  return cpu->backend->execute(cpu->device, &(cvy_command){CVY_RUN, .job = &job}, NULL, NULL);
}

static convoy_status no_memory(const cvy_problem *problem) {
  cvy_array array = cvy_problem_output(problem, 0);
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to verify %lld elements",
                  (long long)cvy_array_count(&array));
}

/* What the results hold before: what is added to. */
static bool prepare_values(cvy_expected *expected) {
  const cvy_problem *problem = &expected->problem;
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) {
    expected->value[i] = calloc(1, (size_t)cvy_problem_output_bytes(problem, i));
    if (!expected->value[i]) return false;
  }
  const float *prior = expected->from.in[cvy_problem_inputs(problem)];
  if (problem->accumulate)
    memcpy(expected->value[0], prior, (size_t)cvy_problem_output_bytes(problem, 0));
  return true;
}

typedef struct absolutes {
  const float *from;
  float *to;
} absolutes;

static void make_absolute(void *arg, int64_t begin, int64_t end) {
  const absolutes *at = arg;
  for (int64_t i = begin; i < end; i++) at->to[i] = fabsf(at->from[i]);
}

/* A new array of absolute values; NULL if memory ran out. */
static float *absolute_of(const cvy_engine *cpu, const float *from, int64_t bytes) {
  absolutes at = {from, malloc((size_t)bytes)};
  if (at.to) share(cpu, bytes / (int64_t)sizeof(float), 1, make_absolute, &at);
  return at.to;
}

static bool prepare_magnitudes(cvy_expected *expected, float *in[]) {
  const cvy_problem *problem = &expected->problem;
  int32_t inputs = cvy_problem_inputs(problem);
  int64_t bytes = cvy_problem_output_bytes(problem, 0);
  bool complete = true;
  for (int32_t i = 0; i < inputs; i++) {
    in[i] = absolute_of(expected->cpu, expected->from.in[i], cvy_problem_input_bytes(problem, i));
    complete = complete && in[i];
  }
  expected->magnitude = problem->accumulate
                            ? absolute_of(expected->cpu, expected->from.in[inputs], bytes)
                            : calloc(1, (size_t)bytes);
  return complete && expected->magnitude;
}

/* The sums of absolute values: the same problem on absolute operands. */
static convoy_status expect_magnitudes(cvy_chooser *chooser, const cvy_engine *cpu,
                                       cvy_expected *out) {
  float *in[CVY_MAX_INPUTS] = {NULL};
  cvy_problem linear;
  const cvy_operation *row = cvy_operation_of(&out->problem);
  if (!row->bound || !row->absolute) return CONVOY_OK;
  row->absolute(&out->problem, &linear);
  convoy_status status =
      prepare_magnitudes(out, in)
          ? run_cpu(chooser, cpu, &linear, (const float *const *)in, &out->magnitude)
          : no_memory(&out->problem);
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++) free(in[i]);
  return status;
}

convoy_status cvy_expect(cvy_chooser *chooser, const cvy_engine *cpu, const cvy_problem *problem,
                         const cvy_values *from, cvy_expected *out) {
  *out = (cvy_expected){.cpu = cpu, .from = *from};
  cvy_problem_copy(&out->problem, problem);
  convoy_status status = prepare_values(out) ? run_cpu(chooser, cpu, problem, from->in, out->value)
                                             : no_memory(problem);
  if (!status) status = expect_magnitudes(chooser, cpu, out);
  if (status) cvy_expected_free(out);
  return status;
}

/* Whether nothing but the CPU engine's result is needed to see that an element is right. Its own
 * rounding takes at most a quarter of the bound, so what is within half of it is right; without
 * magnitudes only what is the same is. */
static bool is_plainly_right(const cvy_expected *expected, int32_t output, float got,
                             int64_t place) {
  double wanted = (double)expected->value[output][place];
  if (!expected->magnitude) return is_same((double)got, wanted);
  double magnitude = (double)expected->magnitude[place];
  double difference = fabs((double)got - wanted);
  return difference <= 0.5 * bound_of(&expected->problem, magnitude) || !(magnitude <= TOO_LARGE);
}

/* Of the rest the element by its definition decides. */
static void look_at_all(void *arg, int64_t begin, int64_t end) {
  look *at = arg;
  const cvy_claim *claim = at->claim;
  cvy_array array = cvy_problem_output(claim->problem, claim->output);
  kind operands = UNKNOWN;
  cvy_mismatch unused;
  for (int64_t i = begin; i < end; i++) {
    int64_t place = cvy_array_place(&array, i);
    if (is_plainly_right(at->expected, claim->output, claim->result[place], place)) continue;
    if (is_right(claim, i, &operands, &unused)) continue;
    note_wrong(at, i);
    return;
  }
}

bool cvy_expected_matches(const cvy_expected *expected, const cvy_algorithm *row, int32_t output,
                          const float *result, cvy_mismatch *out) {
  cvy_claim claim = {expected->cpu, &expected->problem, expected->from, output, result, row};
  cvy_array array = cvy_problem_output(&expected->problem, output);
  look at = {.claim = &claim, .expected = expected, .wrong = -1};
  share(claim.cpu, cvy_array_count(&array), 1, look_at_all, &at);
  return found_none(&at, out);
}

void cvy_expected_free(cvy_expected *expected) {
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++) free(expected->value[i]);
  free(expected->magnitude);
  memset(expected->value, 0, sizeof expected->value);
  expected->magnitude = NULL;
}

convoy_status cvy_check_whole(cvy_chooser *chooser, const cvy_engine *cpu, const cvy_claim *claim,
                              bool *right, cvy_mismatch *out) {
  cvy_expected expected;
  convoy_status status = cvy_expect(chooser, cpu, claim->problem, &claim->from, &expected);
  if (status) return status;
  *right = cvy_expected_matches(&expected, claim->row, claim->output, claim->result, out);
  cvy_expected_free(&expected);
  return CONVOY_OK;
}
