/* The words of program/program_functions.h for one float, and with them the functions. Products and
 * sums are not contracted: cmake/flags.cmake. */
#ifndef CVY_PROGRAM_SCALAR_H
#define CVY_PROGRAM_SCALAR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FUNCTION static inline

typedef float real;
typedef uint32_t bits;
typedef bool mask;

static inline real number(float value) {
  return value;
}

static inline bits pattern(uint32_t value) {
  return value;
}

static inline bits to_bits(real a) {
  bits b;
  memcpy(&b, &a, sizeof b);
  return b;
}

static inline real from_bits(bits a) {
  real b;
  memcpy(&b, &a, sizeof b);
  return b;
}

static inline real multiply_add(real a, real b, real c) {
  return __builtin_fmaf(a, b, c);
}

static inline mask less(real a, real b) {
  return a < b;
}

static inline mask less_equal(real a, real b) {
  return a <= b;
}

static inline mask equal(real a, real b) {
  return a == b;
}

static inline real choose(mask m, real a, real b) {
  return m ? a : b;
}

static inline real smaller(real a, real b) {
  return a < b ? a : b;
}

static inline real larger(real a, real b) {
  return b < a ? a : b;
}

static inline real divide(real a, real b) {
  return a / b;
}

static inline real reciprocal(real b) {
  return 1.0f / b;
}

static inline real reciprocal_above_one(real b) {
  return 1.0f / b;
}

static inline real square_root(real a) {
  return __builtin_sqrtf(a);
}

static inline real round_down(real a) {
  return __builtin_floorf(a);
}

#include "program/program_functions.h"

#endif
