/* Bodies of the loops over lines of windows whose maxima are found. Floats are compared as the
 * whole numbers of cvy_pooling_key (problem/pooling/pooling.h), so that denormal numbers count
 * whatever the processor makes of them. */
typedef int32_t float_bits __attribute__((may_alias));

ALWAYS int32_t key_of(int32_t bits) {
  int32_t magnitude = bits & INT32_MAX, key = bits < 0 ? -magnitude : magnitude;
  return magnitude > 0x7f800000 ? INT32_MAX : key;
}

ALWAYS void keep_larger(float_bits *restrict y, const float_bits *restrict x, const int64_t step,
                        int64_t length) {
  for (int64_t i = 0; i < length; i++) {
    int32_t bits = x[i * step], before = y[i], key = key_of(bits);
    y[i] = key > key_of(before) || key == INT32_MAX ? bits : before;
  }
}

/* Steps 1 and 2 are written out so that the compiler sees constants and can vectorise. */
static void maxima(float *y, const float *x, int64_t step, int64_t length) {
  if (step == 1)
    keep_larger((float_bits *)y, (const float_bits *)x, 1, length);
  else if (step == 2)
    keep_larger((float_bits *)y, (const float_bits *)x, 2, length);
  else
    keep_larger((float_bits *)y, (const float_bits *)x, step, length);
}

ALWAYS void keep_larger_taps(int32_t *restrict keys, int32_t *restrict taps, int32_t tap,
                             const float_bits *restrict x, const int64_t step, int64_t length) {
  for (int64_t i = 0; i < length; i++) {
    int32_t key = key_of(x[i * step]), before = keys[i], other = taps[i];
    bool takes = key > before || key == INT32_MAX;
    keys[i] = takes ? key : before;
    taps[i] = takes ? tap : other;
  }
}

static void maxima_taps(int32_t *keys, int32_t *taps, int32_t tap, const float *x, int64_t step,
                        int64_t length) {
  if (step == 1)
    keep_larger_taps(keys, taps, tap, (const float_bits *)x, 1, length);
  else if (step == 2)
    keep_larger_taps(keys, taps, tap, (const float_bits *)x, 2, length);
  else
    keep_larger_taps(keys, taps, tap, (const float_bits *)x, step, length);
}
