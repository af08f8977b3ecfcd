/* random() for vectors: Philox of WIDTH counters at once, the same words as program/random.c gives.
 */
#include "program/random.h"

#if defined(__AVX512F__) && WIDTH == 16
#define PIECE_MULTIPLY_EVEN(a, b) (native) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#elif defined(__FMA__)
#define PIECE_MULTIPLY_EVEN(a, b) (native) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#elif defined(__SSE2__)
#define PIECE_MULTIPLY_EVEN(a, b) (native) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#endif

typedef uint64_t doubled __attribute__((vector_size(4 * WIDTH), may_alias));

/* Products of the elements 0, 2, ... in 64 bits. */
ALWAYS doubled multiply_even(bits a, bits b) {
#if defined(PIECE_MULTIPLY_EVEN)
  pieces x = {(real)a}, y = {(real)b};
  for (int i = 0; i < PIECES; i++) x.part[i] = PIECE_MULTIPLY_EVEN(x.part[i], y.part[i]);
  return (doubled)x.all;
#else
  return ((doubled)a & 0xffffffffu) * ((doubled)b & 0xffffffffu);
#endif
}

/* The upper and the lower halves of 64-bit products. */
ALWAYS void multiply_halves(bits a, bits b, bits *high, bits *low) {
  doubled even = multiply_even(a, b);
  doubled odd = multiply_even((bits)((doubled)a >> 32), (bits)((doubled)b >> 32));
  *high = (bits)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
  *low = (bits)((even & 0xffffffffu) | odd << 32);
}

/* Philox (program/random.c) of WIDTH counters at once: the words of 4 WIDTH neighbouring elements.
 */
static void random_words(const cvy_program_stream *stream, int call, uint64_t quad,
                         uint32_t *words) {
  uint32_t counter[2][WIDTH];
  for (int i = 0; i < WIDTH; i++) {
    counter[0][i] = (uint32_t)(quad + (uint64_t)i);
    counter[1][i] = (uint32_t)((quad + (uint64_t)i) >> 32);
  }
  bits c[4] = {pattern(0), pattern(0), pattern(stream->word[2]),
               pattern(stream->word[3] + (uint32_t)call)};
  bits key[2] = {pattern(stream->word[0]), pattern(stream->word[1])};
  memcpy(&c[0], counter[0], sizeof counter[0]);
  memcpy(&c[1], counter[1], sizeof counter[1]);
  for (int round = 0; round < 10; round++) {
    bits p_high, p_low, q_high, q_low;
    multiply_halves(c[0], pattern(0xd2511f53u), &p_high, &p_low);
    multiply_halves(c[2], pattern(0xcd9e8d57u), &q_high, &q_low);
    c[0] = q_high ^ c[1] ^ key[0];
    c[1] = q_low;
    c[2] = p_high ^ c[3] ^ key[1];
    c[3] = p_low;
    key[0] += pattern(0x9e3779b9u);
    key[1] += pattern(0xbb67ae85u);
  }
  for (int i = 0; i < WIDTH; i++)
    for (int k = 0; k < 4; k++) words[4 * i + k] = c[k][i];
}

static void loop_random(float *out, const cvy_program_stream *stream, int call, uint64_t first,
                        int64_t count) {
  uint32_t words[4 * WIDTH];
  for (int64_t done = 0; done < count;) {
    uint64_t index = first + (uint64_t)done;
    int64_t skip = (int64_t)(index % 4), left = count - done;
    int64_t taken = left < 4 * WIDTH - skip ? left : 4 * WIDTH - skip;
    random_words(stream, call, index / 4, words);
    for (int64_t i = 0; i < taken; i++) out[done + i] = cvy_random_float(words[skip + i]);
    done += taken;
  }
}
