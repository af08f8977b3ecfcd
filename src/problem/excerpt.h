/* An excerpt: a small problem that a large one contains. Some of the large one's results are its
 * results, and all that they are computed from are its operands, so that a few elements of a
 * device's result can be judged without bringing all of it to the host. */
#ifndef CVY_PROBLEM_EXCERPT_H
#define CVY_PROBLEM_EXCERPT_H

#include "problem/problem.h"

/* Part of an array: `count` stretches of `bytes` each, `stride` bytes apart, from byte `at` on. */
typedef struct cvy_stretches {
  int64_t at, bytes, stride, count;
} cvy_stretches;

/* The arrays of its problem are the stretches of the large one's, one behind the other: arrays of
 * their own, also where those are parts of larger tensors. */
typedef struct cvy_excerpt {
  cvy_stretches in[CVY_MOST_READ], out[CVY_MAX_OUTPUTS];
  cvy_problem problem;
} cvy_excerpt;

/* Another one for each seed. Where a problem has none that is smaller, it is all of it. There must
 * be images. */
void cvy_problem_excerpt(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out);

/* For the rows: one stretch, and the `seed`-th of `count` things, another for each `what`. */
static inline cvy_stretches cvy_one_stretch(int64_t at, int64_t bytes) {
  return (cvy_stretches){at, bytes, 0, 1};
}
int64_t cvy_excerpt_pick(uint64_t seed, int64_t what, int64_t count);

#endif
