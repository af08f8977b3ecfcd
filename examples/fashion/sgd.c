#include "sgd.h"

#include <math.h>

#define PEAK_RATE 0.05
#define WARM_UP_STEPS 100
#define MOMENTUM 0.9f
#define WEIGHT_DECAY 1e-4f

float sgd_rate(int64_t step, int64_t steps) {
  double warmed = fmin(1.0, (double)(step + 1) / WARM_UP_STEPS);
  double cooled = 0.5 * (1.0 + cos(3.14159265358979323846 * (double)step / (double)steps));
  return (float)(PEAK_RATE * warmed * cooled);
}

void sgd_step(float rate, const float *gradients, float *momentum, float *weights, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    momentum[i] = MOMENTUM * momentum[i] + gradients[i] + WEIGHT_DECAY * weights[i];
    weights[i] -= rate * momentum[i];
  }
}
