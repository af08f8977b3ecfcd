/* One problem that does what two do: what the first makes for the second is never stored. A pure
 * function: the planner, which has the arrays, decides whether that is worth it. */
#ifndef CVY_PROBLEM_FUSE_H
#define CVY_PROBLEM_FUSE_H

#include "problem/problem.h"

/* A problem with its arrays, by the caller's numbers: equal numbers are one array. */
typedef struct cvy_bound {
  const cvy_problem *problem;
  const int32_t *in, *out;
} cvy_bound;

/* The problem of both, and its arrays. */
typedef struct cvy_fused {
  int32_t in[CVY_MOST_READ], out[CVY_MAX_OUTPUTS];
  cvy_problem problem;
} cvy_fused;

/* `second` reads what `first` makes. Its results are those of `first` whose bit is in `kept`, then
 * those of `second`, all to the same bit as before. False where the two are no one problem: they go
 * over other elements, draw other random numbers, or have too many operands or instructions
 * together. */
bool cvy_problem_fuse(const cvy_bound *first, const cvy_bound *second, uint32_t kept,
                      cvy_fused *out);

#endif
