/* Body of the loop that adds a bias to results and applies their activation. */

/* ReLU tests for <= 0 and leaky ReLU multiplies, so that a NaN stays in both. ReLU does not
 * multiply, because 0 times -infinity would make a NaN. */
static void epilogue(float *y, float bias, float slope, int64_t length) {
  if (slope == 1.0f) {
    for (int64_t i = 0; i < length; i++) y[i] += bias;
  } else if (slope == 0.0f) {
    for (int64_t i = 0; i < length; i++) {
      float v = y[i] + bias;
      y[i] = v <= 0.0f ? 0.0f : v;
    }
  } else {
    for (int64_t i = 0; i < length; i++) {
      float v = y[i] + bias;
      y[i] = v > 0.0f ? v : v * slope;
    }
  }
}
