/* Bodies of the loops over single lines of floats. */
static inline int64_t correlate_wide(float *y, const float *x, const float *w, int64_t taps,
                                     int64_t step, int64_t length) {
  int64_t i = 0;
  for (; i + 4 * WIDTH <= length; i += 4 * WIDTH) {
    vector a = load(y + i), b = load(y + i + WIDTH);
    vector c = load(y + i + 2 * WIDTH), d = load(y + i + 3 * WIDTH);
    const float *from = x + i;
    for (int64_t t = 0; t < taps; t++, from += step) {
      a += w[t] * load(from);
      b += w[t] * load(from + WIDTH);
      c += w[t] * load(from + 2 * WIDTH);
      d += w[t] * load(from + 3 * WIDTH);
    }
    store(y + i, a);
    store(y + i + WIDTH, b);
    store(y + i + 2 * WIDTH, c);
    store(y + i + 3 * WIDTH, d);
  }
  return i;
}

static void correlate(float *y, const float *x, const float *w, int64_t taps, int64_t step,
                      int64_t length) {
  int64_t i = correlate_wide(y, x, w, taps, step, length);
  for (; i + WIDTH <= length; i += WIDTH) {
    vector a = load(y + i);
    for (int64_t t = 0; t < taps; t++) a += w[t] * load(x + i + t * step);
    store(y + i, a);
  }
  for (; i + 4 <= length; i += 4) {
    quad a = *(const quad *)(y + i);
    for (int64_t t = 0; t < taps; t++) a += w[t] * *(const quad *)(x + i + t * step);
    *(quad *)(y + i) = a;
  }
  for (; i < length; i++)
    for (int64_t t = 0; t < taps; t++) y[i] += w[t] * x[i + t * step];
}

/* Strides 1 and 2 are written out so that the compiler sees constants and can vectorise. */
static void axpy(float *restrict y, int64_t ys, const float *restrict x, int64_t xs, float w,
                 int64_t length) {
  if (ys == 1 && xs == 1)
    for (int64_t i = 0; i < length; i++) y[i] += w * x[i];
  else if (ys == 1 && xs == 2)
    for (int64_t i = 0; i < length; i++) y[i] += w * x[2 * i];
  else if (ys == 2 && xs == 1)
    for (int64_t i = 0; i < length; i++) y[2 * i] += w * x[i];
  else
    for (int64_t i = 0; i < length; i++) y[ys * i] += w * x[xs * i];
}

static void gather(float *restrict to, const float *restrict from, int64_t stride, int64_t length) {
  if (stride == 1)
    for (int64_t i = 0; i < length; i++) to[i] = from[i];
  else if (stride == 2)
    for (int64_t i = 0; i < length; i++) to[i] = from[2 * i];
  else
    for (int64_t i = 0; i < length; i++) to[i] = from[stride * i];
}

/* With stride 2 what lies between is read and written back, four floats at a time, except behind
 * the last. */
static void scatter(float *to, int64_t stride, const float *from, int64_t length) {
  int64_t i = 0;
  for (; stride == 2 && i + 4 < length; i += 4) {
    quad v = *(const quad *)(from + i), *y = (quad *)(to + 2 * i), *z = (quad *)(to + 2 * i + 4);
    *y = __builtin_shufflevector(v, *y, 0, 5, 1, 7);
    *z = __builtin_shufflevector(v, *z, 2, 5, 3, 7);
  }
  for (; i < length; i++) to[i * stride] = from[i];
}
