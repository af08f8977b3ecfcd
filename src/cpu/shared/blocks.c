/* Cutting outputs into blocks: the padding before a block is what of the whole's lies there. */
#include "cpu/shared/blocks.h"

int cvy_block_axis(const cvy_problem *problem) {
  int axis = 0;
  while (axis < 2 && problem->conv.in[axis] == 1 && problem->conv.out[axis] == 1) axis++;
  return axis;
}

cvy_output_block cvy_output_block_of(const cvy_problem *problem, int axis, cvy_range images,
                                     cvy_range outputs) {
  int64_t start = outputs.begin * problem->conv.stride[axis] - problem->conv.pad[axis];
  int64_t skipped = cvy_min(cvy_max(start, 0), problem->conv.in[axis]);
  cvy_output_block b;
  cvy_problem_copy(&b.p, problem);
  b.images = images;
  b.first = b.out_at = outputs.begin;
  b.in_at = skipped;
  b.p.conv.in[axis] -= skipped;
  b.p.conv.pad[axis] = cvy_max(-start, 0);
  b.p.conv.out[axis] = cvy_range_length(outputs);
  for (int i = axis + 1; i < 3; i++) {
    b.in_at *= problem->conv.in[i];
    b.out_at *= problem->conv.out[i];
  }
  return b;
}

cvy_output_block cvy_output_block_at(const cvy_output_blocks *blocks, const cvy_problem *problem,
                                     int64_t number) {
  int axis = blocks->axis;
  int64_t band = number / blocks->outputs.count, part = number % blocks->outputs.count;
  return cvy_output_block_of(problem, axis, cvy_cut_part(blocks->images, problem->conv.n, band),
                             cvy_cut_part(blocks->outputs, problem->conv.out[axis], part));
}
