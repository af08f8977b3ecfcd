/* What the operations of programs do, written once in words that C, its vectors and OpenCL C share.
 * The including file says what the words mean for its type of element:
 *
 * - FUNCTION: what stands in front of a function: static, and inline where that is known.
 * - real, bits, mask: one float32 or several; as many unsigned 32-bit integers; as many conditions.
 * - number(v), pattern(v): a real, bits of one value.
 * - to_bits(a), from_bits(a): the same 32 bits as the other type.
 * - less, less_equal, equal: compare as IEEE 754 does. choose(m, a, b): m ? a : b.
 * - smaller(a, b): a < b ? a : b, so b if one of them is a NaN or both are zeros.
 * - larger(a, b): b < a ? a : b, likewise.
 * - multiply_add(a, b, c): a b + c, rounded once.
 * - divide(a, b), reciprocal(b), square_root(a): rounded correctly.
 * - reciprocal_above_one(b): of 1 <= b or a NaN; what would be a denormal number may be 0.
 * - round_down(a): the largest integer not above.
 *
 * And + - * on reals round once each: whatever compiles this must not contract products and sums.
 * So every engine computes the same bits. How far results are from the true values is measured over
 * all float32 by tests/program/test_functions.c; docs/programs_language.md has the table.
 *
 * The polynomials were fitted for this file, with coefficients rounded to float32 one after the
 * other, the lowest first, and the rest fitted anew. */

FUNCTION real program_not(mask m) {
  return choose(m, number(0.0f), number(1.0f));
}

FUNCTION real program_truth(mask m) {
  return choose(m, number(1.0f), number(0.0f));
}

FUNCTION real program_add(real a, real b) {
  return a + b;
}

FUNCTION real program_subtract(real a, real b) {
  return a - b;
}

FUNCTION real program_multiply(real a, real b) {
  return a * b;
}

FUNCTION real program_divide(real a, real b) {
  return divide(a, b);
}

FUNCTION real program_reciprocal(real b) {
  return reciprocal(b);
}

FUNCTION real program_negate(real a) {
  return from_bits(to_bits(a) ^ pattern(0x80000000u));
}

FUNCTION real program_abs(real a) {
  return from_bits(to_bits(a) & pattern(0x7fffffffu));
}

FUNCTION real program_less(real a, real b) {
  return program_truth(less(a, b));
}

FUNCTION real program_less_equal(real a, real b) {
  return program_truth(less_equal(a, b));
}

FUNCTION real program_equal(real a, real b) {
  return program_truth(equal(a, b));
}

FUNCTION real program_not_equal(real a, real b) {
  return program_not(equal(a, b));
}

FUNCTION real program_select(real a, real b, real c) {
  return choose(equal(a, number(0.0f)), c, b);
}

FUNCTION real program_fma(real a, real b, real c) {
  return multiply_add(a, b, c);
}

/* A NaN on either side is the result; of two zeros it is the second. */
FUNCTION real program_min(real a, real b) {
  return choose(equal(a, a), smaller(a, b), a);
}

FUNCTION real program_max(real a, real b) {
  return choose(equal(a, a), larger(a, b), a);
}

FUNCTION real program_floor(real a) {
  return round_down(a);
}

/* e^x for -87 <= x <= 89 or a NaN. x is n ln 2 + r, |r| <= ln(2) / 2. The sum with 1.5 2^23 rounds
 * to the integer n and leaves it in the lowest bits, there as n + 126: the exponent of 2^(n-1),
 * which is why the polynomial is twice e^r. With n = -126 that is the exponent of zero. */
FUNCTION real program_exp_inside(real x) {
  real shifted = multiply_add(x, number(0x1.715476p+0f), number(12582912.0f + 126.0f));
  real n = shifted - number(12582912.0f + 126.0f);
  real r = multiply_add(n, number(-0x1.62e43p-1f), x);
  r = multiply_add(n, number(0x1.05c61p-29f), r);
  real p = multiply_add(number(0x1.6a5134p-9f), r, number(0x1.12397cp-6f));
  p = multiply_add(p, r, number(0x1.5558acp-4f));
  p = multiply_add(p, r, number(0x1.555492p-2f));
  p = multiply_add(p, r, number(0x1.fffffcp-1f));
  p = multiply_add(p, r, number(2.0f));
  p = multiply_add(p, r, number(2.0f));
  return p * from_bits(to_bits(shifted) << 23);
}

/* Beyond 89 it is infinite by overflow; results below 2^-125.5 are 0. */
FUNCTION real program_exp(real x) {
  return program_exp_inside(smaller(number(89.0f), larger(number(-87.0f), x)));
}

FUNCTION real program_sigmoid(real x) {
  return reciprocal_above_one(number(1.0f) + program_exp(program_negate(x)));
}

/* x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). e becomes a float by way of the bits of 2^23 + e.
 */
FUNCTION real program_log(real x) {
  bits u = to_bits(x) + pattern(0x3f800000u - 0x3f3504f3u);
  real e = from_bits((u >> 23) | pattern(0x4b000000u)) - number(8388608.0f + 127.0f);
  real f = from_bits((u & pattern(0x007fffffu)) + pattern(0x3f3504f3u)) - number(1.0f);
  real p = multiply_add(number(-0x1.38c974p-4f), f, number(0x1.055eaep-3f));
  p = multiply_add(p, f, number(-0x1.0d8246p-3f));
  p = multiply_add(p, f, number(0x1.22d93p-3f));
  p = multiply_add(p, f, number(-0x1.54728ap-3f));
  p = multiply_add(p, f, number(0x1.99a01cp-3f));
  p = multiply_add(p, f, number(-0x1.000226p-2f));
  p = multiply_add(p, f, number(0x1.555554p-2f));
  p = multiply_add(p, f, number(-0.5f));
  p = multiply_add(p, f * f, e * number(-0x1.05c61p-29f));
  real y = multiply_add(e, number(0x1.62e43p-1f), f + p);
  real low = choose(less(x, number(0.0f)), from_bits(pattern(0x7fc00000u)),
                    from_bits(pattern(0xff800000u)));
  real high = choose(less(x, from_bits(pattern(0x7f800000u))), y, x);
  return choose(less(x, number(0x1p-126f)), low, high);
}

FUNCTION real program_with_sign(real magnitude, real sign) {
  return from_bits(to_bits(magnitude) | (to_bits(sign) & pattern(0x80000000u)));
}

/* 1 - 2 / (e^2x + 1), and near 0, where that cancels, x + x^3 P(x^2). */
FUNCTION real program_tanh(real x) {
  real size = program_abs(x), square = x * x;
  real e = program_exp_inside(number(2.0f) * smaller(number(10.0f), size));
  real far = multiply_add(number(-2.0f), reciprocal_above_one(e + number(1.0f)), number(1.0f));
  real p = multiply_add(number(-0x1.828776p-8f), square, number(0x1.54c3c2p-6f));
  p = multiply_add(p, square, number(-0x1.b89abap-5f));
  p = multiply_add(p, square, number(0x1.1109bep-3f));
  p = multiply_add(p, square, number(-0x1.55553ep-2f));
  real near = multiply_add(p, square * size, size);
  return program_with_sign(choose(less(size, number(0.6f)), near, far), x);
}

/* 1 - e^-Q(|x|), and near 0 x + x P(x^2). */
FUNCTION real program_erf(real x) {
  real size = program_abs(x), square = x * x;
  real z = smaller(number(4.0f), size);
  real q = multiply_add(number(-0x1.9ae8e2p-13f), z, number(0x1.8ee19ep-9f));
  q = multiply_add(q, z, number(-0x1.6c2a9cp-6f));
  q = multiply_add(q, z, number(0x1.a9b442p-4f));
  q = multiply_add(q, z, number(0x1.463cbep-1f));
  q = multiply_add(q, z, number(0x1.20af5ap+0f));
  q = multiply_add(q, z, number(0x1.9a5bd4p-13f));
  real far = number(1.0f) - program_exp_inside(program_negate(q));
  real p = multiply_add(number(0x1.4f3ad6p-14f), square, number(-0x1.a601dp-11f));
  p = multiply_add(p, square, number(0x1.5449ap-8f));
  p = multiply_add(p, square, number(-0x1.b80116p-6f));
  p = multiply_add(p, square, number(0x1.ce2d64p-4f));
  p = multiply_add(p, square, number(-0x1.81274p-2f));
  p = multiply_add(p, square, number(0x1.06eba8p-3f));
  real near = multiply_add(p, size, size);
  return program_with_sign(choose(less(size, number(0.92f)), near, far), x);
}

FUNCTION real program_sqrt(real a) {
  return square_root(a);
}

FUNCTION real program_rsqrt(real a) {
  return reciprocal(square_root(a));
}
