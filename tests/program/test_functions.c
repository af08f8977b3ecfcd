/* How far the functions of programs are from the true values, and that denormal numbers inside them
 * make no difference. By itself it takes every 1009th float32; `--full` takes all of them, half an
 * hour, and prints the table of docs/programs_language.md. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/ops.h"
#include "program/random_program.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

static double sigmoid64(double x) {
  return 1.0 / (1.0 + exp(-x));
}

static double rsqrt64(double x) {
  return 1.0 / sqrt(x);
}

/* The most units in the last place that a result may be off; results smaller than `least` only have
 * to be that close to it. */
static const struct function {
  const char *name;
  cvy_program_op op;
  double (*reference)(double);
  double ulps, least;
} functions[] = {
    {"exp", CVY_PROGRAM_EXP, exp, 0.9, 0x1.7p-126},
    {"log", CVY_PROGRAM_LOG, log, 0.88, 0},
    {"tanh", CVY_PROGRAM_TANH, tanh, 1.42, 0},
    {"erf", CVY_PROGRAM_ERF, erf, 1.08, 0},
    {"sqrt", CVY_PROGRAM_SQRT, sqrt, 0.5, 0},
    {"rsqrt", CVY_PROGRAM_RSQRT, rsqrt64, 1.5, 0},
    {"sigmoid", CVY_PROGRAM_SIGMOID, sigmoid64, 2.5, 0x1p-125},
    {"floor", CVY_PROGRAM_FLOOR, floor, 0, 0},
};

static float from_word(uint32_t word) {
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

/* The distance of two float32 neighbours where `value` is: its power of two, 23 bits down. */
static double ulp_at(double value) {
  double size = fabs(value) < FLT_MIN ? FLT_MIN : value;
  uint64_t word;
  memcpy(&word, &size, sizeof word);
  word &= 0x7ff0000000000000u;
  memcpy(&size, &word, sizeof size);
  return size * 0x1p-23;
}

/* Units in the last place; infinite if one is a NaN or an infinity and the other is not. */
static double error_of(const struct function *f, float x, float got) {
  double expected = f->reference((double)x);
  if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got) ? 0 : INFINITY;
  if (fabs(expected) > FLT_MAX || isinf(got)) {
    bool rounds_up = fabs(expected) >= FLT_MAX + ulp_at(FLT_MAX) / 2;
    return isinf(got) && rounds_up && (got > 0) == (expected > 0) ? 0 : INFINITY;
  }
  if (expected != 0 && !signbit(got) != !signbit(expected)) return INFINITY;
  if (fabs(expected) < f->least) return fabs((double)got - expected) <= f->least ? 0 : INFINITY;
  return fabs((double)got - expected) / ulp_at(expected);
}

static void flush_denormals(bool on) {
#if defined(__SSE2__)
  _mm_setcsr(on ? _mm_getcsr() | 0x8040u : _mm_getcsr() & ~0x8040u);
#else
  (void)on;
#endif
}

enum { CHUNK = 4096 };

/* So many values in a row, `step` words apart; those with a denormal number are left out. */
typedef struct chunk {
  int count;
  float x[CHUNK], got[CHUNK], flushed[CHUNK];
} chunk;

static uint64_t next_chunk(const struct function *f, uint64_t word, uint64_t step, chunk *out) {
  out->count = 0;
  for (; word < 1ull << 32 && out->count < CHUNK; word += step) {
    if (!cvy_is_denormal(from_word((uint32_t)word)))
      out->x[out->count++] = from_word((uint32_t)word);
  }
  for (int i = 0; i < out->count; i++) out->got[i] = cvy_program_apply(f->op, out->x[i], 0, 0);
  flush_denormals(true);
  for (int i = 0; i < out->count; i++) out->flushed[i] = cvy_program_apply(f->op, out->x[i], 0, 0);
  flush_denormals(false);
  return word;
}

static int measure(const struct function *f, uint64_t step) {
  static chunk values;
  double worst = 0;
  float at = 0;
  for (uint64_t word = 0; word < 1ull << 32;) {
    word = next_chunk(f, word, step, &values);
    for (int i = 0; i < values.count; i++) {
      float x = values.x[i], got = values.got[i];
      double error = error_of(f, x, got);
      if (error > worst) {
        worst = error;
        at = x;
      }
      if (cvy_is_denormal(got) || test_same_bits(got, values.flushed[i])) continue;
      printf("%s(%a) depends on how denormal numbers are treated\n", f->name, (double)x);
      return 1;
    }
  }
  printf("| %s | %.3f | %a |\n", f->name, worst, (double)at);
  fflush(stdout);
  if (worst <= f->ulps) return 0;
  printf("%s may be off by %g\n", f->name, f->ulps);
  return 1;
}

int main(int argc, char **argv) {
  bool full = argc == 2 && !strcmp(argv[1], "--full");
  int faults = 0;
  if (argc > 1 && !full) {
    fprintf(stderr, "usage: %s [--full]\n", argv[0]);
    return EXIT_FAILURE;
  }
  for (size_t i = 0; i < CVY_COUNT(functions); i++)
    faults += measure(&functions[i], full ? 1 : 1009);
  return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
