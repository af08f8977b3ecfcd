/* Stochastic gradient descent with momentum, weight decay and a learning rate that warms up and then
 * falls like a cosine. */
#ifndef FASHION_SGD_H
#define FASHION_SGD_H

#include <stdint.h>

/* Learning rate of step `step` out of `steps`. */
float sgd_rate(int64_t step, int64_t steps);

void sgd_step(float rate, const float *gradients, float *momentum, float *weights, int64_t count);

#endif
