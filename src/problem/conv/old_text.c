/* How files of tuning wrote problems before they had the grammar: read, never written. */
#include <stdio.h>
#include <string.h>

#include "problem/conv/conv.h"

static bool is_trivial(const cvy_problem *p, int axis) {
  return p->conv.in[axis] == 1 && p->conv.filter[axis] == 1 && p->conv.out[axis] == 1 &&
         p->conv.stride[axis] == 1 && p->conv.dilation[axis] == 1 && p->conv.pad[axis] == 0;
}

/* Padding at the end that gives `out`: as much as at the beginning if that does, else the least. */
static int64_t end_of(const cvy_problem *p, int axis) {
  int64_t least = (p->conv.out[axis] - 1) * p->conv.stride[axis] +
                  (p->conv.filter[axis] - 1) * p->conv.dilation[axis] + 1 - p->conv.in[axis] -
                  p->conv.pad[axis];
  bool even = p->conv.pad[axis] >= least && p->conv.pad[axis] < least + p->conv.stride[axis];
  return even ? p->conv.pad[axis] : least > 0 ? least : 0;
}

/* The word of older files: every number of a problem but its rank and its padding at the end. None
 * has more than nine digits, so that nothing overflows; whether they fit together shows when the
 * problem is put as text and read again. */
bool cvy_conv_parse_old(const char *word, cvy_problem *out) {
  static const char format[] =
      "n%9lldc%9lldk%9lld_in%9lld,%9lld,%9lld_filter%9lld,%9lld,%9lld_out%9lld,%9lld,%9lld_"
      "stride%9lld,%9lld,%9lld_pad%9lld,%9lld,%9lld_dil%9lld,%9lld,%9lld_groups%9lld_%n";
  long long v[22];
  int end = 0;
  if (sscanf(word, format, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9],
             &v[10], &v[11], &v[12], &v[13], &v[14], &v[15], &v[16], &v[17], &v[18], &v[19], &v[20],
             &v[21], &end) != 22)
    return false;
  cvy_problem p = {
      .conv.n = v[0], .conv.c = v[1], .conv.k = v[2], .conv.groups = v[21], .conv.rank = 3};
  for (int i = 0; i < 3; i++) {
    p.conv.in[i] = v[3 + i];
    p.conv.filter[i] = v[6 + i];
    p.conv.out[i] = v[9 + i];
    p.conv.stride[i] = v[12 + i];
    p.conv.pad[i] = v[15 + i];
    p.conv.dilation[i] = v[18 + i];
  }
  p.operation = cvy_direction_named(word + end);
  if (p.operation < 0 || p.conv.groups < 1) return false;
  if (p.operation == CONVOY_BACKWARD_BIAS)
    memcpy(p.conv.in, p.conv.out, sizeof(p.conv.in)); /* it had none */
  while (p.conv.rank > 1 && is_trivial(&p, 3 - p.conv.rank)) p.conv.rank--;
  for (int i = 0; i < 3; i++) p.conv.pad_end[i] = end_of(&p, i);
  char text[CONVOY_PROBLEM_TEXT];
  cvy_conv_print(&p, text, sizeof(text));
  return cvy_conv_parse(text, out) && cvy_problem_same(&p, out);
}
