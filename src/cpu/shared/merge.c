/* Merging of trailing axes. */
#include "cpu/shared/merge.h"

#define LARGEST (INT64_C(1) << 31) /* keeps every product below 2^63 */

static bool last_stands_still(const cvy_problem *p) {
  return p->filter[2] == 1 && p->stride[2] == 1 && p->pad[2] == 0 && p->in[2] == p->out[2];
}

/* A stride of the middle axis would skip whole rows, which no stride of the merged row can. */
static bool can_merge(const cvy_problem *p) {
  bool width_one = p->in[2] == 1 && p->out[2] == 1 && p->filter[2] == 1 && p->pad[2] == 0;
  bool small = p->in[1] < LARGEST && p->in[2] < LARGEST && p->out[1] < LARGEST &&
               p->dilation[1] < LARGEST && p->pad[1] < LARGEST;
  return small && (width_one || (last_stands_still(p) && p->stride[1] == 1));
}

/* Nothing is left to merge once both leading axes are trivial. */
static bool leading_trivial(const cvy_problem *p) {
  return p->in[0] == 1 && p->in[1] == 1 && p->out[0] == 1 && p->out[1] == 1 && p->filter[0] == 1 &&
         p->filter[1] == 1 && p->pad[0] == 0 && p->pad[1] == 0;
}

static void merge_last_two(cvy_problem *p) {
  int64_t width = p->in[2];
  p->in[2] *= p->in[1];
  p->out[2] *= p->out[1];
  p->filter[2] = p->filter[1];
  p->stride[2] = p->stride[1];
  p->dilation[2] = p->dilation[1] * width;
  p->pad[2] = p->pad[1] * width;
  p->in[1] = p->in[0], p->out[1] = p->out[0], p->filter[1] = p->filter[0];
  p->stride[1] = p->stride[0], p->dilation[1] = p->dilation[0], p->pad[1] = p->pad[0];
  p->in[0] = p->out[0] = p->filter[0] = p->stride[0] = p->dilation[0] = 1;
  p->pad[0] = 0;
}

cvy_problem cvy_merged(const cvy_problem *problem) {
  cvy_problem p = *problem;
  while (!leading_trivial(&p) && can_merge(&p)) merge_last_two(&p);
  return p;
}

static bool middle_stands_still(const cvy_problem *p) {
  return p->filter[1] == 1 && p->pad[1] == 0 && p->in[1] == p->out[1];
}

cvy_problem cvy_merged_still(const cvy_problem *problem) {
  cvy_problem p = *problem;
  while (!leading_trivial(&p) && can_merge(&p) && (p.in[2] == 1 || middle_stands_still(&p)))
    merge_last_two(&p);
  return p;
}
