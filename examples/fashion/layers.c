/* ReLU, 2x2 average pooling, softmax with cross-entropy: plain loops, on the host. */
#include "layers.h"

#include <math.h>

void relu_backward(const float *y, float *dy, int64_t count) {
  for (int64_t i = 0; i < count; i++) dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

void pool_forward(const float *x, int64_t planes, int64_t height, int64_t width, float *y) {
  for (int64_t row = 0; row < planes * height; row += 2) {
    const float *upper = x + row * width;
    const float *lower = upper + width;
    for (int64_t w = 0; w < width; w += 2) {
      *y++ = 0.25f * ((upper[w] + upper[w + 1]) + (lower[w] + lower[w + 1]));
    }
  }
}

void pool_backward(const float *dy, int64_t planes, int64_t height, int64_t width, float *dx) {
  for (int64_t row = 0; row < planes * height; row++) {
    const float *source = dy + row / 2 * (width / 2);
    for (int64_t w = 0; w < width; w++) dx[row * width + w] = 0.25f * source[w / 2];
  }
}

static float largest(const float *values, int64_t count) {
  float result = values[0];
  for (int64_t i = 1; i < count; i++) result = fmaxf(result, values[i]);
  return result;
}

double softmax_loss(const float *logits, const uint8_t *labels, int64_t count, int64_t classes,
                    float *dlogits) {
  double loss = 0.0;
  for (int64_t n = 0; n < count; n++) {
    const float *row = logits + n * classes;
    float *gradient = dlogits + n * classes;
    float top = largest(row, classes);
    double sum = 0.0;
    for (int64_t k = 0; k < classes; k++) sum += exp((double)(row[k] - top));
    for (int64_t k = 0; k < classes; k++) {
      double probability = exp((double)(row[k] - top)) / sum;
      gradient[k] = (float)((probability - (k == labels[n])) / (double)count);
    }
    loss += log(sum) - (double)(row[labels[n]] - top);
  }
  return loss / (double)count;
}

int64_t count_correct(const float *logits, const uint8_t *labels, int64_t count, int64_t classes) {
  int64_t correct = 0;
  for (int64_t n = 0; n < count; n++) {
    const float *row = logits + n * classes;
    correct += row[labels[n]] == largest(row, classes);
  }
  return correct;
}
