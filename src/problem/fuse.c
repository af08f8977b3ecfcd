/* Which problems can be one is for the row of the second to say. */
#include "problem/fuse.h"

#include "problem/operation.h"

bool cvy_problem_fuse(const cvy_bound *first, const cvy_bound *second, uint32_t kept,
                      cvy_fused *out) {
  const cvy_family *family = cvy_family_of(second->problem);
  bool whole = !first->problem->accumulate && !second->problem->accumulate &&
               !cvy_problem_empty(first->problem) && !cvy_problem_empty(second->problem);
  return whole && family->fuse && family->fuse(first, second, kept, out);
}
