/* Random small convolutions of every kind: ranks, groups, dilation, paddings, transposed. */
#ifndef TEST_RANDOM_CASE_H
#define TEST_RANDOM_CASE_H

#include "common/random.h"
#include "convoy/convoy.h"

/* Fields are legal one by one; whether the filter fits the input is left to chance. */
void test_random_conv(test_random *random, convoy_conv *conv, int64_t *x_shape, int64_t *w_shape);

#endif
