/* Whether a device's result is right: by the definition in float64 for single elements, with the
 * CPU engine as a filter for whole arrays. An element is right within the bound that convoy.h
 * promises. */
#ifndef CVY_CHECK_H
#define CVY_CHECK_H

#include "core/tune/choose.h"

/* What is judged: the problem, what it was computed from, one of its results, and which row made
 * it. NULL: one that keeps the bound of every result. Much of it is shared by the CPU engine's
 * threads. */
typedef struct cvy_claim {
  const cvy_engine *cpu;
  const cvy_problem *problem;
  cvy_values from;
  int32_t output;
  const float *result;
  const cvy_algorithm *row;
} cvy_claim;

typedef struct cvy_mismatch {
  int64_t index;
  double got, wanted, bound;
} cvy_mismatch;

/* Elements of a result to be looked at, by number: where they lie is the result's array to say. */
enum { CVY_MOST_SAMPLES = 256 };
typedef struct cvy_samples {
  int32_t count;
  int64_t index[CVY_MOST_SAMPLES];
} cvy_samples;

/* Adds elements that look wrong without any computation: infinite ones, NaN, or, of a result that
 * is 0 throughout, a few. At most 1024 elements are looked at, all of a small result, else evenly
 * spread ones, others for each `seed`. Unwritten elements hold what was there before: NaN in a
 * first use, which this finds, else wrong values like any others. */
void cvy_sample_suspects(const cvy_array *array, const float *result, uint64_t seed,
                         cvy_samples *samples);
/* Adds `count` elements at random. */
void cvy_sample_any(int64_t elements, int32_t count, uint64_t seed, cvy_samples *samples);
/* Adds the 32 corners of a result. */
void cvy_sample_corners(const cvy_problem *problem, int32_t output, cvy_samples *samples);

/* False for the lowest of them that is wrong. Where magnitudes come near the largest float32
 * nothing can be said, and everything counts as right. */
bool cvy_check_samples(const cvy_claim *claim, const cvy_samples *samples, cvy_mismatch *out);

/* What every element of a problem's results should be, for results of several algorithms. */
typedef struct cvy_expected {
  const cvy_engine *cpu;
  cvy_problem problem;
  cvy_values from; /* stays the caller's, as long as this is used */
  float *value[CVY_MAX_OUTPUTS];
  float *magnitude; /* of output 0; NULL where the CPU engine cannot make them */
} cvy_expected;

/* Takes a run of the CPU engine and, where the operation is linear, another one on copies of the
 * operands. ERR_MEMORY, or what the engine reports; nothing to free then. */
convoy_status cvy_expect(cvy_chooser *chooser, const cvy_engine *cpu, const cvy_problem *problem,
                         const cvy_values *from, cvy_expected *out);
/* False for the first element of result `output` that is wrong; row as in cvy_claim. */
bool cvy_expected_matches(const cvy_expected *expected, const cvy_algorithm *row, int32_t output,
                          const float *result, cvy_mismatch *out);
void cvy_expected_free(cvy_expected *expected);

/* All elements, for one result. *right becomes false if one is wrong. Fails as cvy_expect. */
convoy_status cvy_check_whole(cvy_chooser *chooser, const cvy_engine *cpu, const cvy_claim *claim,
                              bool *right, cvy_mismatch *out);

#endif
