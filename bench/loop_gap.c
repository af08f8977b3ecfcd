/* How long a parallel loop of the CPU engine takes to start and end, by the time since the last
 * one: a convolution of next to nothing, in microseconds, for one thread and for all. What is
 * between them is the loop.
 *
 *     cc -O2 -Iinclude bench/loop_gap.c -Lbuild/release -lconvoy -o loop_gap
 *     LD_LIBRARY_PATH=build/release ./loop_gap        another library, CONVOY_TEAM, OMP_WAIT_POLICY
 */
#include <convoy/convoy.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAMPLES 101

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void fail(void) {
  fprintf(stderr, "%s\n", convoy_last_error());
  exit(1);
}

static void call(convoy_context *context) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x_shape[] = {64, 1, 4}, w_shape[] = {1, 1, 1};
  static float x[64 * 4], w[1], y[64 * 4];
  if (convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL)) fail();
}

/* The median of calls that come `gap` seconds after the last, in which this thread computes. */
static double median_after(convoy_context *context, double gap) {
  double seconds[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) {
    double start = now();
    while (now() - start < gap) continue;
    start = now();
    call(context);
    seconds[i] = now() - start;
  }
  qsort(seconds, SAMPLES, sizeof *seconds, ascending);
  return seconds[SAMPLES / 2];
}

static convoy_context *open_engine(int32_t threads) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  options.algorithm = "cpu.direct"; /* shares out its images, however small they are */
  options.threads = threads;
  if (convoy_open(&options, &context)) fail();
  call(context);
  return context;
}

int main(void) {
  const double gaps[] = {0, 0.0001, 0.001, 0.005, 0.02};
  convoy_context *one = open_engine(1), *all = open_engine(0);
  printf("since the last loop   one thread      all\n");
  for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
    double alone = median_after(one, gaps[i]), together = median_after(all, gaps[i]);
    printf("%16.1f ms %9.1f us %5.1f us\n", gaps[i] * 1e3, alone * 1e6, together * 1e6);
  }
  convoy_close(one);
  convoy_close(all);
  return 0;
}
