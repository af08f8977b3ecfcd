/* The words of program_functions.h in OpenCL C, for a float (PROGRAM_WIDTH 1) or for four
 * or eight neighbouring ones (4, 8). A program is this file, program_functions.h, program_random.h
 * if there are index() or random(), and kernels with what cvy_program_write_values writes.
 *
 * OpenCL's own division and square root may be off by some units in the last place, and a driver's
 * native functions by any number. Here they only give the first guess: Newton's steps with fma end
 * at the correctly rounded result for every guess that has 20 good bits. For 1 / b and the square
 * root all significands have been tried, with guesses that are off by up to 2^-20
 * (tests/program/test_rounding.c). For a / b it follows (P. W. Markstein, "Computation of
 * elementary functions on the IBM RISC System/6000 processor", 1990): if y is 1 / b rounded, q is
 * less than a unit in the last place from a / b, and r is a - b q, then q + r y is a / b rounded.
 */
#pragma OPENCL FP_CONTRACT OFF

#define FUNCTION static inline

#if PROGRAM_WIDTH != 1 && PROGRAM_WIDTH != 4 && PROGRAM_WIDTH != 8
#error "PROGRAM_WIDTH must be 1, 4 or 8"
#endif

#if PROGRAM_WIDTH == 8
typedef float8 real;
typedef uint8 bits;
typedef int8 mask;
#define AS_REAL as_float8
#define AS_BITS as_uint8
#define ALL(m) all(m)
#elif PROGRAM_WIDTH == 4
typedef float4 real;
typedef uint4 bits;
typedef int4 mask;
#define AS_REAL as_float4
#define AS_BITS as_uint4
#define ALL(m) all(m)
#else
typedef float real;
typedef uint bits;
typedef int mask;
#define AS_REAL as_float
#define AS_BITS as_uint
#define ALL(m) (m)
#endif

FUNCTION real number(float value) {
  return (real)(value);
}

FUNCTION bits pattern(uint value) {
  return (bits)(value);
}

FUNCTION bits to_bits(real a) {
  return AS_BITS(a);
}

FUNCTION real from_bits(bits a) {
  return AS_REAL(a);
}

FUNCTION mask less(real a, real b) {
  return a < b;
}

FUNCTION mask less_equal(real a, real b) {
  return a <= b;
}

FUNCTION mask equal(real a, real b) {
  return a == b;
}

FUNCTION real choose(mask m, real a, real b) {
  return m ? a : b;
}

FUNCTION real smaller(real a, real b) {
  return a < b ? a : b;
}

FUNCTION real larger(real a, real b) {
  return b < a ? a : b;
}

FUNCTION real multiply_add(real a, real b, real c) {
  return fma(a, b, c);
}

/* ------------------------------------------------------------------------------------ division */

FUNCTION bits magnitude(real a) {
  return AS_BITS(a) & pattern(0x7fffffffu);
}

/* What has no digits behind the point, infinities and NaNs stay what they are. They are kept from
 * floor(), because PoCL's goes by way of an int: where a compiler knows that the number does not
 * fit one, its result is undefined. */
FUNCTION real round_down(real a) {
  mask has_digits = AS_REAL(magnitude(a)) < number(8388608.0f);
  return has_digits ? floor(has_digits ? a : number(0.0f)) : a;
}

/* Whether all are at least 2^low and below 2^high in size. */
FUNCTION int sizes_within(real a, int low, int high) {
  return ALL(magnitude(a) - pattern((uint)(low + 127) << 23) < pattern((uint)(high - low) << 23));
}

/* A first guess of 1 / b where both are normal numbers. NVIDIA's native_recip() takes denormal ones
 * into account, which takes a third as long as a whole sigmoid. */
#ifdef __NV_CL_C_VERSION
FUNCTION float inverse_guess_of_one(float b) {
  float guess;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(b));
  return guess;
}

FUNCTION real inverse_guess(real b) {
#if PROGRAM_WIDTH == 8
  return (real)(inverse_guess_of_one(b.s0), inverse_guess_of_one(b.s1), inverse_guess_of_one(b.s2),
                inverse_guess_of_one(b.s3), inverse_guess_of_one(b.s4), inverse_guess_of_one(b.s5),
                inverse_guess_of_one(b.s6), inverse_guess_of_one(b.s7));
#elif PROGRAM_WIDTH == 4
  return (real)(inverse_guess_of_one(b.s0), inverse_guess_of_one(b.s1), inverse_guess_of_one(b.s2),
                inverse_guess_of_one(b.s3));
#else
  return inverse_guess_of_one(b);
#endif
}
#else
FUNCTION real inverse_guess(real b) {
  return native_recip(b);
}
#endif

/* 1 / b rounded, for 2^-125 <= |b| < 2^125. With the largest significand Newton stays at a power of
 * two, the tie he starts from, while the inverse is a little more. */
FUNCTION real reciprocal_inside(real b) {
  real guess = inverse_guess(b);
  real y = fma(fma(-b, guess, number(1.0f)), guess, guess);
  bits is_largest = ((AS_BITS(b) & pattern(0x007fffffu)) + pattern(1u)) >> 23;
  return AS_REAL(AS_BITS(fma(fma(-b, y, number(1.0f)), y, y)) | is_largest);
}

/* a / b rounded, where neither the quotient nor 2^-48 a leaves the normal numbers. */
FUNCTION real divide_inside(real a, real b) {
  real y = reciprocal_inside(b);
  real guess = a * y;
  real q = fma(fma(-b, guess, a), y, guess);
  return fma(fma(-b, q, a), y, q);
}

/* 2^(e - 127) of each exponent's bits. */
FUNCTION real power_of_two(bits e) {
  return AS_REAL(e << 23);
}

/* Any a / b: of numbers between 1 and 2, and then the exponents, half of their difference at a
 * time. What a zero, an infinity or a NaN makes of it is what the product with 1 / b does. */
FUNCTION real divide_anywhere(real a, real b) {
  bits size_a = magnitude(a), size_b = magnitude(b);
  bits e_a = size_a >> 23, e_b = size_b >> 23, low = pattern(0x007fffffu);
  real q = divide_inside(AS_REAL((size_a & low) | pattern(0x3f800000u)),
                         AS_REAL((size_b & low) | pattern(0x3f800000u)));
  bits e = e_a - e_b + pattern(512u), half_e = e >> 1;
  real scaled = q * power_of_two(half_e - pattern(256u - 127u)) *
                power_of_two(e - half_e - pattern(256u - 127u));
  real infinity = AS_REAL(pattern(0x7f800000u)), x = AS_REAL(size_a), y = AS_REAL(size_b);
  real inverse = y < infinity ? (e_b == pattern(0u) ? infinity : number(1.0f))
                              : (y == infinity ? number(0.0f) : y);
  mask special = (e_a - pattern(1u) >= pattern(254u)) | (e_b - pattern(1u) >= pattern(254u));
  bits sign = (AS_BITS(a) ^ AS_BITS(b)) & pattern(0x80000000u);
  return AS_REAL(AS_BITS(special ? x * inverse : scaled) | sign);
}

/* Most divisions are between numbers of moderate size, and most others of 0. */
FUNCTION real divide(real a, real b) {
  real divisible = a == number(0.0f) ? number(1.0f) : a;
  if (!(sizes_within(divisible, -62, 62) & sizes_within(b, -62, 62))) return divide_anywhere(a, b);
  bits sign = (AS_BITS(a) ^ AS_BITS(b)) & pattern(0x80000000u);
  return AS_REAL((magnitude(divide_inside(a, b))) | sign);
}

FUNCTION real reciprocal(real b) {
  if (!sizes_within(b, -125, 125)) return divide_anywhere(number(1.0f), b);
  return reciprocal_inside(b);
}

FUNCTION real reciprocal_above_one(real b) {
  return b < number(0x1p126f) ? reciprocal_inside(b) : (b == b ? number(0.0f) : b);
}

/* --------------------------------------------------------------------------------- square root */

/* Of 2^-76 <= x < infinity. */
FUNCTION real root_inside(real x) {
  real guess = native_rsqrt(x);
  real g = x * guess, h = number(0.5f) * guess;
  real error = fma(-h, g, number(0.5f));
  real root = fma(g, error, g), half_inverse = fma(h, error, h);
  return fma(fma(-root, root, x), half_inverse, root);
}

FUNCTION real root_anywhere(real x) {
  mask small = x < number(0x1p-76f);
  real infinity = AS_REAL(pattern(0x7f800000u));
  real root = root_inside(small ? x * number(0x1p64f) : x);
  real normal = small ? root * number(0x1p-32f) : root;
  real odd = x < number(0.0f) ? AS_REAL(pattern(0x7fc00000u)) : x;
  return ((x > number(0.0f)) & (x < infinity)) ? normal : odd;
}

FUNCTION real square_root(real x) {
  if (!ALL(AS_BITS(x) - pattern(51u << 23) < pattern((255u - 51u) << 23))) return root_anywhere(x);
  return root_inside(x);
}
