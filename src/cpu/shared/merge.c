/* Merging of trailing axes. */
#include "cpu/shared/merge.h"

#define LARGEST (INT64_C(1) << 31) /* keeps every product below 2^63 */

static bool last_stands_still(const cvy_problem *p) {
  return p->conv.filter[2] == 1 && p->conv.stride[2] == 1 && p->conv.pad[2] == 0 &&
         p->conv.in[2] == p->conv.out[2];
}

/* A stride of the middle axis would skip whole rows, which no stride of the merged row can. */
static bool can_merge(const cvy_problem *p) {
  bool width_one =
      p->conv.in[2] == 1 && p->conv.out[2] == 1 && p->conv.filter[2] == 1 && p->conv.pad[2] == 0;
  bool small = p->conv.in[1] < LARGEST && p->conv.in[2] < LARGEST && p->conv.out[1] < LARGEST &&
               p->conv.dilation[1] < LARGEST && p->conv.pad[1] < LARGEST;
  return small && (width_one || (last_stands_still(p) && p->conv.stride[1] == 1));
}

/* Nothing is left to merge once both leading axes are trivial. */
static bool leading_trivial(const cvy_problem *p) {
  return p->conv.in[0] == 1 && p->conv.in[1] == 1 && p->conv.out[0] == 1 && p->conv.out[1] == 1 &&
         p->conv.filter[0] == 1 && p->conv.filter[1] == 1 && p->conv.pad[0] == 0 &&
         p->conv.pad[1] == 0;
}

static void merge_last_two(cvy_problem *p) {
  int64_t width = p->conv.in[2];
  p->conv.in[2] *= p->conv.in[1];
  p->conv.out[2] *= p->conv.out[1];
  p->conv.filter[2] = p->conv.filter[1];
  p->conv.stride[2] = p->conv.stride[1];
  p->conv.dilation[2] = p->conv.dilation[1] * width;
  p->conv.pad[2] = p->conv.pad[1] * width;
  p->conv.in[1] = p->conv.in[0], p->conv.out[1] = p->conv.out[0],
  p->conv.filter[1] = p->conv.filter[0];
  p->conv.stride[1] = p->conv.stride[0], p->conv.dilation[1] = p->conv.dilation[0],
  p->conv.pad[1] = p->conv.pad[0];
  p->conv.in[0] = p->conv.out[0] = p->conv.filter[0] = p->conv.stride[0] = p->conv.dilation[0] = 1;
  p->conv.pad[0] = 0;
}

cvy_problem cvy_merged(const cvy_problem *problem) {
  cvy_problem p;
  cvy_problem_copy(&p, problem);
  while (!leading_trivial(&p) && can_merge(&p)) merge_last_two(&p);
  return p;
}

static bool middle_stands_still(const cvy_problem *p) {
  return p->conv.filter[1] == 1 && p->conv.pad[1] == 0 && p->conv.in[1] == p->conv.out[1];
}

cvy_problem cvy_merged_still(const cvy_problem *problem) {
  cvy_problem p;
  cvy_problem_copy(&p, problem);
  while (!leading_trivial(&p) && can_merge(&p) && (p.conv.in[2] == 1 || middle_stands_still(&p)))
    merge_last_two(&p);
  return p;
}
