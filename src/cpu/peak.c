/* Peak probes: multiply-adds from registers, and copying arrays larger than the caches. The best of
 * a few tries counts, for other programs can only slow a try down. */
#include "cpu/peak.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

#define TRIES 5
#define ROUNDS 3000000 /* about ten milliseconds */
#define COPY_BYTES (INT64_C(128) << 20)
#define COPY_PIECE (INT64_C(1) << 20)

typedef struct peak_probe {
  const cvy_simd *simd;
  double operations[CVY_MAX_THREADS];
} peak_probe;

static void run_peak_loop(void *arg, int64_t begin, int64_t end, int32_t slot) {
  peak_probe *b = arg;
  float sink = 0;
  for (int64_t i = begin; i < end; i++)
    b->operations[slot] += b->simd->fma_peak_loop(ROUNDS, &sink);
}

static double measure_once(cvy_threads *threads, const cvy_simd *simd) {
  peak_probe b = {.simd = simd};
  double sum = 0, start = cvy_clock();
  cvy_parallel_for(threads, cvy_threads_count(threads), run_peak_loop, &b);
  double seconds = cvy_clock() - start;
  for (int i = 0; i < CVY_MAX_THREADS; i++) sum += b.operations[i];
  return sum / seconds * 1e-9;
}

double cvy_peak_gflops(cvy_threads *threads, const cvy_simd *simd) {
  double best = 0;
  for (int i = 0; i < TRIES; i++) {
    double now = measure_once(threads, simd);
    best = now > best ? now : best;
  }
  return best;
}

typedef struct copying {
  char *to;
  const char *from;
} copying;

static void copy(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const copying *c = arg;
  (void)slot;
  memcpy(c->to + begin * COPY_PIECE, c->from + begin * COPY_PIECE,
         (size_t)((end - begin) * COPY_PIECE));
}

convoy_status cvy_peak_copy(cvy_threads *threads, double *gigabytes) {
  char *memory = malloc(2 * COPY_BYTES);
  if (!memory) {
    return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no %lld bytes to measure copying with",
                    (long long)(2 * COPY_BYTES));
  }
  memset(memory, 1, 2 * COPY_BYTES); /* pages exist before the clock starts */
  copying c = {memory, memory + COPY_BYTES};
  double best = 0;
  for (int i = 0; i < TRIES; i++) {
    double start = cvy_clock();
    cvy_parallel_for(threads, COPY_BYTES / COPY_PIECE, copy, &c);
    double now = 2.0 * (double)COPY_BYTES / (cvy_clock() - start) * 1e-9;
    best = now > best ? now : best;
  }
  free(memory);
  *gigabytes = best;
  return CONVOY_OK;
}
