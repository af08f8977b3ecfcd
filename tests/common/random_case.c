/* See random_case.h. */
#include "common/random_case.h"

static void random_axis(test_random *random, convoy_conv *conv, int axis, int64_t *in,
                        int64_t *taps) {
  *in = test_between(random, 1, 12);
  *taps = test_between(random, 1, 5);
  conv->stride[axis] = test_between(random, 1, 4);
  conv->dilation[axis] = test_between(random, 1, 3);
  conv->pad_begin[axis] = test_between(random, 0, 3);
  conv->pad_end[axis] = test_between(random, 0, 3);
  const int64_t larger =
      conv->stride[axis] > conv->dilation[axis] ? conv->stride[axis] : conv->dilation[axis];
  if (conv->transposed) conv->output_padding[axis] = test_between(random, 0, larger - 1);
}

void test_random_conv(test_random *random, convoy_conv *conv, int64_t *x_shape, int64_t *w_shape) {
  *conv = (convoy_conv)CONVOY_CONV_INIT((int32_t)test_between(random, 1, CONVOY_MAX_RANK));
  conv->transposed = (int32_t)test_between(random, 0, 1);
  conv->groups = test_between(random, 1, 3);
  x_shape[0] = test_between(random, 0, 3);
  const int64_t x_per_group = test_between(random, 1, 4), y_per_group = test_between(random, 1, 4);
  x_shape[1] = x_per_group * conv->groups;
  w_shape[0] = (conv->transposed ? x_per_group : y_per_group) * conv->groups;
  w_shape[1] = conv->transposed ? y_per_group : x_per_group;
  for (int a = 0; a < conv->rank; a++)
    random_axis(random, conv, a, &x_shape[2 + a], &w_shape[2 + a]);
}
