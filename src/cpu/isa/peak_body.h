/* Body of the loop that measures the processor's peak. */

/* Independent sums, enough to cover the latency of a multiply-add. */
#define PEAK_SUMS 12

static double fma_peak_loop(int64_t rounds, float *sink) {
  vector a[PEAK_SUMS], factor = {0}, term = {0};
  for (int i = 0; i < PEAK_SUMS; i++) a[i] = factor + (float)i;
  factor += 0.5f;
  term += sink[0];
  for (int64_t r = 0; r < rounds; r++)
    for (int i = 0; i < PEAK_SUMS; i++) a[i] = a[i] * factor + term;
  for (int i = 1; i < PEAK_SUMS; i++) a[0] += a[i];
  sink[0] = a[0][0];
  return 2.0 * PEAK_SUMS * WIDTH * (double)rounds;
}
