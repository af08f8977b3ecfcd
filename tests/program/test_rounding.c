/* cl/program_words.h, compiled as C with first guesses that are off: divisions and square roots are
 * rounded correctly all the same. `--full` tries every significand with more guesses. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "program/random_program.h"

#define PROGRAM_WIDTH 1
typedef unsigned int uint;

static float as_float(uint word) {
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static uint as_uint(float value) {
  uint word;
  memcpy(&word, &value, sizeof word);
  return word;
}

/* How far guesses are off, as a part of the value. */
static float off;

static float native_recip(float x) {
  return (float)((1.0 / (double)x) * (1.0 + (double)off));
}

static float native_rsqrt(float x) {
  return (float)((1.0 / sqrt((double)x)) * (1.0 + (double)off));
}

#define fma __builtin_fmaf
#define floor __builtin_floorf
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "cl/program_words.h"
#undef fma
#undef floor

static const float guesses[] = {0.0f,      0x1p-24f,  -0x1p-24f, 0x1p-23f,  -0x1p-23f,
                                0x1p-22f,  -0x1p-22f, 0x1p-21f,  -0x1p-21f, 0x1p-20f,
                                -0x1p-20f, 0x3p-22f,  -0x3p-22f};

static int faults;

static void expect(const char *what, float a, float b, float got, float wanted) {
  if (test_same_bits(got, wanted)) return;
  if (faults++ < 10) {
    printf("%s of %a, %a with guesses off by %a: %a, not %a\n", what, (double)a, (double)b,
           (double)off, (double)got, (double)wanted);
  }
}

/* All significands of 1 <= b < 2, and of 1 <= x < 4: exponents make no difference inside. */
static void every_significand(uint step) {
  for (uint word = 0x3f800000u; word < 0x40000000u; word += step) {
    float b = as_float(word);
    expect("reciprocal", b, 0, reciprocal_inside(b), 1.0f / b);
  }
  for (uint word = 0x3f800000u; word < 0x40800000u; word += step) {
    float x = as_float(word);
    expect("square root", x, 0, root_inside(x), sqrtf(x));
  }
}

/* The inverse of an odd number modulo 2^32, by Newton. */
static uint inverse_of(uint odd) {
  uint inverse = odd;
  for (int i = 0; i < 5; i++) inverse *= 2 - odd * inverse;
  return inverse;
}

/* Quotients next to the middle between two floats: with odd b and an m of 25 bits such that b m is
 * r modulo 2^25 or 2^24, (b m - r) / 2^25 is an a whose quotient by b is r / b from the middle m.
 */
static void hard_quotients(test_random *random, int count) {
  for (int i = 0; i < count; i++) {
    uint b = (uint)test_between(random, 1 << 22, (1 << 23) - 1) * 2 + 1;
    int64_t r = test_between(random, -8, 8);
    for (int shift = 24; shift <= 25; shift++) {
      uint modulus = 1u << shift, m = (uint)((int64_t)inverse_of(b) * r) & (modulus - 1);
      m |= 1u << 24;
      int64_t product = (int64_t)b * m, a = (product - r) >> shift;
      if (!(m & 1) || a < 1 << 23 || a >= 1 << 24) continue;
      float x = (float)a, y = (float)b;
      expect("hard quotient", x, y, divide(x, y), x / y);
    }
  }
}

static void any_quotients(test_random *random, int count) {
  for (int i = 0; i < count; i++) {
    float a = test_hostile(random), b = test_hostile(random);
    float wanted = a / b, root = sqrtf(a);
    if (wanted != 0 && fabsf(wanted) <= FLT_MIN) continue; /* denormal */
    expect("quotient", a, b, divide(a, b), wanted);
    expect("square root", a, 0, square_root(a), root);
    if (fabsf(1.0f / b) > FLT_MIN || b == 0 || isinf(b) || isnan(b))
      expect("reciprocal", b, 0, reciprocal(b), 1.0f / b);
    if (b >= 1.0f) {
      float inverse = b < 0x1p126f ? 1.0f / b : 0.0f;
      expect("reciprocal above one", b, 0, reciprocal_above_one(b), inverse);
    }
  }
}

int main(int argc, char **argv) {
  bool full = argc == 2 && !strcmp(argv[1], "--full");
  test_random random = {31};
  for (size_t g = 0; g < CVY_COUNT(guesses); g++) {
    off = guesses[g];
    every_significand(full || g < 1 ? 1 : 61);
    hard_quotients(&random, full ? 20000000 : 200000);
    any_quotients(&random, full ? 20000000 : 200000);
  }
  printf("%d faults\n", faults);
  return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
