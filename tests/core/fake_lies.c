/* What the fake device makes of results that were right, by its script. */
#include <math.h>

#include "core/fake.h"
#include "problem/operation.h"

static bool lies_at(int64_t element) {
  if (!fake.lie_one_of) return element == fake.lie_element;
  const int64_t place[2] = {fake_seen.runs, element};
  return cvy_hash(0, place, sizeof(place)) % (uint64_t)fake.lie_one_of == 0;
}

static void falsify(const cvy_problem *problem, int32_t output, float *out) {
  cvy_array array = cvy_problem_output(problem, output);
  for (int64_t i = 0; i < cvy_array_count(&array); i++) {
    float *one = &out[cvy_array_place(&array, i)];
    if (fake.lie == FAKE_WRONG && lies_at(i)) *one += 1.0f + fabsf(*one);
    if (fake.lie == FAKE_ZERO) *one = 0.0f;
    if (fake.lie == FAKE_ROUNDED) *one = nextafterf(*one, INFINITY);
    if (fake.lie == FAKE_NAN) *one = NAN;
  }
}

static void define(const cvy_problem *problem, const cvy_job *host) {
  cvy_values from;
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++) from.in[i] = host->in[i].host;
  for (int32_t output = 0; output < cvy_problem_outputs(problem); output++) {
    cvy_array array = cvy_problem_output(problem, output);
    float *out = host->out[output].host;
    for (int64_t i = 0; i < cvy_array_count(&array); i++) {
      cvy_element one = cvy_problem_element(problem, &from, output, i);
      out[cvy_array_place(&array, i)] = (float)(fake.lie == FAKE_KEPT ? one.value : one.flushed);
    }
  }
}

void fake_lies(const cvy_job *job) {
  if (fake.lie == FAKE_KEPT || fake.lie == FAKE_FLUSHED) define(&job->problem, job);
  falsify(&job->problem, fake.lie_output, job->out[fake.lie_output].host);
}
