/* Bodies of the loops that reduce lines and planes to one sum, always in the same order. */
#include <string.h>

static double add_elements(vector a) {
  quad fours[WIDTH / 4], sum;
  memcpy(fours, &a, sizeof a);
  sum = fours[0];
  for (int i = 1; i < WIDTH / 4; i++) sum += fours[i];
  return ((double)sum[0] + (double)sum[1]) + ((double)sum[2] + (double)sum[3]);
}

/* Sums one row. What whole vectors give is added to *a and *b, the rest is returned. */
static inline float dot_row(const float *x, const float *y, int64_t length, vector *a, vector *b) {
  int64_t i = 0;
  for (; i + 2 * WIDTH <= length; i += 2 * WIDTH) {
    *a += load(x + i) * load(y + i);
    *b += load(x + i + WIDTH) * load(y + i + WIDTH);
  }
  for (; i + WIDTH <= length; i += WIDTH) *a += load(x + i) * load(y + i);
  float rest = 0;
  for (; i < length; i++) rest += x[i] * y[i];
  return rest;
}

static float dot_strided(const float *x, const float *y, int64_t stride, int64_t length) {
  float sum[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= length; i += 8)
    for (int j = 0; j < 8; j++) sum[j] += x[i + j] * y[(i + j) * stride];
  for (; i < length; i++) sum[0] += x[i] * y[i * stride];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static double dot(const cvy_plane_pair *p) {
  vector a = {0}, b = {0};
  double rest = 0;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->a + r * p->a_pitch, *y = p->b + r * p->b_pitch;
    rest += (double)(p->b_stride == 1 ? dot_row(x, y, p->length, &a, &b)
                                      : dot_strided(x, y, p->b_stride, p->length));
  }
  return rest + add_elements(a + b);
}

static double sum(const float *x, int64_t length) {
  double part[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= length; i += 8)
    for (int j = 0; j < 8; j++) part[j] += (double)x[i + j];
  for (; i < length; i++) part[0] += (double)x[i];
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
