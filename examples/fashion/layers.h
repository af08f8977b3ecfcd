/* What the network does besides convolution. Arrays are dense [count][...] in NCHW order. */
#ifndef FASHION_LAYERS_H
#define FASHION_LAYERS_H

#include <stdint.h>

/* dy becomes 0 where the ReLU that made y was closed. */
void relu_backward(const float *y, float *dy, int64_t count);

/* Average over 2x2 squares of `planes` images of height x width, both even. */
void pool_forward(const float *x, int64_t planes, int64_t height, int64_t width, float *y);
void pool_backward(const float *dy, int64_t planes, int64_t height, int64_t width, float *dx);

/* Mean cross-entropy of softmax(logits [count][classes]) against the labels, and its gradient. */
double softmax_loss(const float *logits, const uint8_t *labels, int64_t count, int64_t classes,
                    float *dlogits);

/* How many rows of logits are largest at their label. */
int64_t count_correct(const float *logits, const uint8_t *labels, int64_t count, int64_t classes);

#endif
