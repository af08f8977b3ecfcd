/* Cutting outputs into blocks: the padding before a block is what of the whole's lies there. */
#include "cpu/shared/block.h"

#include "cpu/shared/range.h"

cvy_problem cvy_block_of(const cvy_problem *problem, int axis, int64_t first, int64_t count,
                         int64_t *skip) {
  cvy_problem sub = *problem;
  int64_t start = first * sub.stride[axis] - sub.pad[axis];
  int64_t skipped = cvy_min(cvy_max(start, 0), sub.in[axis]);
  sub.in[axis] -= skipped;
  sub.pad[axis] = cvy_max(-start, 0);
  sub.out[axis] = cvy_min(count, sub.out[axis] - first);
  *skip = skipped;
  for (int i = axis + 1; i < 3; i++) *skip *= sub.in[i];
  return sub;
}
