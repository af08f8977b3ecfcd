/* Body of interleaving. Four elements of all planes are taken at a time, as squares of four by four
 * floats in each quarter of a register. */
#include "cpu/isa/interleave.h"

#if WIDTH == 16
#define IN_QUADS(a, b, c, d)                                                                  \
  (a), (b), (c), (d), (a) + 4, (b) + 4, (c) + 4, (d) + 4, (a) + 8, (b) + 8, (c) + 8, (d) + 8, \
      (a) + 12, (b) + 12, (c) + 12, (d) + 12
#elif WIDTH == 8
#define IN_QUADS(a, b, c, d) (a), (b), (c), (d), (a) + 4, (b) + 4, (c) + 4, (d) + 4
#else
#define IN_QUADS(a, b, c, d) (a), (b), (c), (d)
#endif

typedef float octet __attribute__((vector_size(32), aligned(4), may_alias));

/* Loads four floats of every fourth plane. */
static inline vector load_quads(const float *from, int64_t pitch) {
  quad a = *(const quad *)from;
#if WIDTH == 4
  (void)pitch;
  return a;
#else
  quad b = *(const quad *)(from + pitch);
  octet ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#if WIDTH == 8
  return ab;
#else
  quad c = *(const quad *)(from + 2 * pitch), d = *(const quad *)(from + 3 * pitch);
  octet cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
#endif
}

ALWAYS void put_quad(float *to, quad value, bool add) {
  if (add) value += *(quad *)to;
  *(quad *)to = value;
}

ALWAYS void store_quads(float *to, int64_t pitch, vector v, bool add) {
  put_quad(to, __builtin_shufflevector(v, v, 0, 1, 2, 3), add);
#if WIDTH == 4
  (void)pitch;
#else
  put_quad(to + pitch, __builtin_shufflevector(v, v, 4, 5, 6, 7), add);
#endif
#if WIDTH > 8
  put_quad(to + 2 * pitch, __builtin_shufflevector(v, v, 8, 9, 10, 11), add);
  put_quad(to + 3 * pitch, __builtin_shufflevector(v, v, 12, 13, 14, 15), add);
#endif
}

/* Transposes each quarter's square. */
static inline void transpose_quads(vector *v) {
  vector a = __builtin_shufflevector(v[0], v[1], IN_QUADS(0, WIDTH, 1, WIDTH + 1));
  vector b = __builtin_shufflevector(v[0], v[1], IN_QUADS(2, WIDTH + 2, 3, WIDTH + 3));
  vector c = __builtin_shufflevector(v[2], v[3], IN_QUADS(0, WIDTH, 1, WIDTH + 1));
  vector d = __builtin_shufflevector(v[2], v[3], IN_QUADS(2, WIDTH + 2, 3, WIDTH + 3));
  v[0] = __builtin_shufflevector(a, c, IN_QUADS(0, 1, WIDTH, WIDTH + 1));
  v[1] = __builtin_shufflevector(a, c, IN_QUADS(2, 3, WIDTH + 2, WIDTH + 3));
  v[2] = __builtin_shufflevector(b, d, IN_QUADS(0, 1, WIDTH, WIDTH + 1));
  v[3] = __builtin_shufflevector(b, d, IN_QUADS(2, 3, WIDTH + 2, WIDTH + 3));
}

static void interleave(const cvy_interleaving *of, float *to, const float *from) {
  int64_t pitch = of->pitch, i = 0;
  const int32_t *place = of->place;
  for (; of->planes == WIDTH && i + 4 <= of->count; i += 4) {
    vector v[4];
    UNROLL(4)
    for (int l = 0; l < 4; l++) v[l] = load_quads(from + l * pitch + i, 4 * pitch);
    transpose_quads(v);
    UNROLL(4)
    for (int l = 0; l < 4; l++) store(to + place[i + l], v[l]);
  }
  for (; i < of->count; i++)
    for (int64_t l = 0; l < of->planes; l++) to[place[i] + l] = from[l * pitch + i];
}

ALWAYS void deinterleave_all(const cvy_interleaving *of, float *to, const float *from, bool add) {
  int64_t pitch = of->pitch, i = 0;
  const int32_t *place = of->place;
  for (; of->planes == WIDTH && i + 4 <= of->count; i += 4) {
    vector v[4];
    UNROLL(4)
    for (int l = 0; l < 4; l++) v[l] = load(from + place[i + l]);
    transpose_quads(v);
    UNROLL(4)
    for (int l = 0; l < 4; l++) store_quads(to + l * pitch + i, 4 * pitch, v[l], add);
  }
  for (; i < of->count; i++) {
    for (int64_t l = 0; l < of->planes; l++)
      to[l * pitch + i] = add ? to[l * pitch + i] + from[place[i] + l] : from[place[i] + l];
  }
}

static void deinterleave(const cvy_interleaving *of, float *to, const float *from) {
  if (of->add)
    deinterleave_all(of, to, from, true);
  else
    deinterleave_all(of, to, from, false);
}
