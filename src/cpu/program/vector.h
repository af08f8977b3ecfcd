/* The words of program/program_functions.h for vectors of WIDTH floats, which the including file
 * sets and is compiled for. Products and sums are not contracted (cmake/flags.cmake). */
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef float real __attribute__((vector_size(4 * WIDTH), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * WIDTH), may_alias));
typedef int32_t whole __attribute__((vector_size(4 * WIDTH), may_alias));
typedef float loose __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias)); /* in memory */

#define ALWAYS static inline __attribute__((always_inline))
#define FUNCTION ALWAYS

ALWAYS real load(const float *from) {
  return *(const loose *)from;
}

ALWAYS void store(float *to, real value) {
  *(loose *)to = value;
}

ALWAYS bits pattern(uint32_t value) {
  bits b = {0};
  return b + value;
}

ALWAYS bits to_bits(real a) {
  return (bits)a;
}

ALWAYS real from_bits(bits a) {
  return (real)a;
}

ALWAYS real number(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return from_bits(pattern(word));
}

/* ------------------------------------------------------------------------ less than a vector */

/* load_part: the first `count` floats, fewer than a vector has; the others are 1. */

#if defined(__AVX512F__) && WIDTH == 16
ALWAYS real load_part(const float *from, int64_t count) {
  __mmask16 there = (__mmask16)((1u << count) - 1);
  return (real)_mm512_mask_loadu_ps((__m512)number(1.0f), there, from);
}

ALWAYS void store_part(float *to, real value, int64_t count) {
  _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)value);
}

#elif defined(__AVX2__) && WIDTH == 8
ALWAYS __m256i first_of(int64_t count) {
  __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), place);
}

ALWAYS real load_part(const float *from, int64_t count) {
  __m256i there = first_of(count);
  __m256 value = _mm256_maskload_ps(from, there), one = (__m256)number(1.0f);
  return (real)_mm256_blendv_ps(one, value, _mm256_castsi256_ps(there));
}

ALWAYS void store_part(float *to, real value, int64_t count) {
  _mm256_maskstore_ps(to, first_of(count), (__m256)value);
}

#else
ALWAYS real load_part(const float *from, int64_t count) {
  real value = number(1.0f);
  memcpy(&value, from, (size_t)count * sizeof(float));
  return value;
}

ALWAYS void store_part(float *to, real value, int64_t count) {
  memcpy(to, &value, (size_t)count * sizeof(float));
}
#endif

/* -------------------------------------------------------------------- comparisons and choices */

#if defined(__AVX512F__) && WIDTH == 16
typedef __mmask16 mask;

ALWAYS mask less(real a, real b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
}

ALWAYS mask less_equal(real a, real b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
}

ALWAYS mask equal(real a, real b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
}

ALWAYS real choose(mask m, real a, real b) {
  return (real)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a);
}

/* x86's minimum and maximum are a < b ? a : b and b < a ? a : b. */
ALWAYS real smaller(real a, real b) {
  return (real)_mm512_min_ps((__m512)a, (__m512)b);
}

ALWAYS real larger(real a, real b) {
  return (real)_mm512_max_ps((__m512)a, (__m512)b);
}

#else
typedef whole mask;

ALWAYS mask less(real a, real b) {
  return a < b;
}

ALWAYS mask less_equal(real a, real b) {
  return a <= b;
}

ALWAYS mask equal(real a, real b) {
  return a == b;
}

#if defined(__AVX2__) && WIDTH == 8
ALWAYS real choose(mask m, real a, real b) {
  return (real)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}

ALWAYS real smaller(real a, real b) {
  return (real)_mm256_min_ps((__m256)a, (__m256)b);
}

ALWAYS real larger(real a, real b) {
  return (real)_mm256_max_ps((__m256)a, (__m256)b);
}
#else
ALWAYS real choose(mask m, real a, real b) {
  return from_bits(((bits)m & to_bits(a)) | (~(bits)m & to_bits(b)));
}

ALWAYS real smaller(real a, real b) {
  return choose(less(a, b), a, b);
}

ALWAYS real larger(real a, real b) {
  return choose(less(b, a), a, b);
}
#endif
#endif

/* ----------------------------------------------------------- what is an instruction, or is made */

#if defined(__SSE2__) && !defined(__FMA__)
/* Two floats as doubles: the product is exact. The sum is rounded to odd, its last bit is set if
 * anything was lost, and then rounding it once more to float gives what one rounding of the exact
 * sum gives (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static __m128d odd_sum(__m128d product, __m128d c) {
  __m128d sum = _mm_add_pd(product, c), part = _mm_sub_pd(sum, product);
  __m128d lost = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, part)), _mm_sub_pd(c, part));
  __m128d zero = _mm_setzero_pd();
  __m128d inexact = _mm_or_pd(_mm_cmplt_pd(lost, zero), _mm_cmplt_pd(zero, lost)); /* no NaN */
  __m128i one = _mm_set1_epi64x(1), word = _mm_castpd_si128(sum);
  __m128i inwards = _mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(lost, sum)), 63);
  __m128i by = _mm_sub_epi64(one, _mm_add_epi64(inwards, inwards));
  __m128i is_odd = _mm_sub_epi64(_mm_setzero_si128(), _mm_and_si128(word, one));
  by = _mm_and_si128(_mm_andnot_si128(is_odd, by), _mm_castpd_si128(inexact));
  return _mm_castsi128_pd(_mm_add_epi64(word, by));
}

static __attribute__((noinline)) __m128 multiply_add_slowly(__m128 a, __m128 b, __m128 c) {
  __m128 a_high = _mm_movehl_ps(a, a), b_high = _mm_movehl_ps(b, b), c_high = _mm_movehl_ps(c, c);
  __m128d low = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b));
  __m128d high = _mm_mul_pd(_mm_cvtps_pd(a_high), _mm_cvtps_pd(b_high));
  return _mm_movelh_ps(_mm_cvtpd_ps(odd_sum(low, _mm_cvtps_pd(c))),
                       _mm_cvtpd_ps(odd_sum(high, _mm_cvtps_pd(c_high))));
}

/* Rounding to double first matters only where the double is halfway between two floats: where its
 * last 29 bits are a one and zeros. (Denormal results excepted, as everywhere.) */
ALWAYS __m128 multiply_add_piece(__m128 a, __m128 b, __m128 c) {
  __m128 a_high = _mm_movehl_ps(a, a), b_high = _mm_movehl_ps(b, b), c_high = _mm_movehl_ps(c, c);
  __m128d low = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b));
  __m128d high = _mm_mul_pd(_mm_cvtps_pd(a_high), _mm_cvtps_pd(b_high));
  low = _mm_add_pd(low, _mm_cvtps_pd(c));
  high = _mm_add_pd(high, _mm_cvtps_pd(c_high));
  __m128 words = _mm_shuffle_ps(_mm_castpd_ps(low), _mm_castpd_ps(high), _MM_SHUFFLE(2, 0, 2, 0));
  __m128i last = _mm_slli_epi32(_mm_castps_si128(words), 3);
  __m128i halfway = _mm_cmpeq_epi32(last, _mm_set1_epi32((int)0x80000000u));
  if (__builtin_expect(_mm_movemask_epi8(halfway), 0)) return multiply_add_slowly(a, b, c);
  return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
#endif

#if defined(__AVX512F__) && WIDTH == 16
typedef __m512 native; /* what the processor's own instructions take */
#define PIECE_MULTIPLY_ADD _mm512_fmadd_ps
#define PIECE_SQUARE_ROOT _mm512_sqrt_ps
#elif defined(__FMA__)
typedef __m256 native;
#define PIECE_MULTIPLY_ADD _mm256_fmadd_ps
#define PIECE_SQUARE_ROOT _mm256_sqrt_ps
#elif defined(__SSE2__)
typedef __m128 native;
#define PIECE_MULTIPLY_ADD multiply_add_piece
#define PIECE_SQUARE_ROOT _mm_sqrt_ps
#else
typedef float native;
#define PIECE_MULTIPLY_ADD __builtin_fmaf
#define PIECE_SQUARE_ROOT __builtin_sqrtf
#endif

enum { PIECES = sizeof(real) / sizeof(native) };

typedef union pieces {
  real all;
  native part[PIECES];
} pieces;

ALWAYS real multiply_add(real a, real b, real c) {
  pieces x = {a}, y = {b}, z = {c};
  for (int i = 0; i < PIECES; i++) x.part[i] = PIECE_MULTIPLY_ADD(x.part[i], y.part[i], z.part[i]);
  return x.all;
}

ALWAYS real square_root(real a) {
  pieces x = {a};
  for (int i = 0; i < PIECES; i++) x.part[i] = PIECE_SQUARE_ROOT(x.part[i]);
  return x.all;
}

ALWAYS real divide(real a, real b) {
  return a / b;
}

ALWAYS real reciprocal(real b) {
  return number(1.0f) / b;
}

ALWAYS real reciprocal_above_one(real b) {
  return number(1.0f) / b;
}

/* By way of an integer, which floats of 2^23 and more are anyway. A zero keeps its sign. */
ALWAYS real round_down(real a) {
  real size = from_bits(to_bits(a) & pattern(0x7fffffffu));
  mask has_fraction = less(size, number(8388608.0f));
  whole integer = __builtin_convertvector(choose(has_fraction, a, number(0.0f)), whole);
  real below = __builtin_convertvector(integer, real);
  below = below - choose(less(a, below), number(1.0f), number(0.0f));
  bits sign = to_bits(a) & pattern(0x80000000u);
  return choose(has_fraction, from_bits(to_bits(below) | sign), a);
}

#include "program/program_functions.h"
