/* Bodies of the inner loops in GCC's vector extensions. The including file sets WIDTH, the floats
 * of a native register, and the orders of elements that part two registers into even and odd
 * elements and join them in pairs, and is compiled with the flags of its instruction set and with
 * contraction of a b + c into fused multiply-adds. */
#include <string.h>

#include "cpu/isa/simd.h"
#include "cpu/isa/unroll.h"

typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int32_t vector_mask __attribute__((vector_size(4 * WIDTH), may_alias));
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

#define ALWAYS static inline __attribute__((always_inline))

/* Whether x86's compilers can be asked for a vector in a register: not for AVX-512's in AVX2's. */
#if defined(__x86_64__) && (WIDTH < 16 || defined(__AVX512F__))
#define IN_REGISTER 1
#else
#define IN_REGISTER 0
#endif

/* Independent accumulators: enough to cover the latency of a multiply-add. */
#define PEAK_SUMS 12

static inline vector load(const float *from) {
  return *(const vector *)from;
}

static inline void store(float *to, vector value) {
  *(vector *)to = value;
}

/* All bits of element `first` and those behind it. */
static inline vector_mask mask_from(int64_t first) {
  vector_mask number = {0};
  for (int i = 0; i < WIDTH; i++) number[i] = i;
  return number >= (int32_t)first;
}

static inline int64_t correlate_wide(float *y, const float *x, const float *w, int64_t taps,
                                     int64_t step, int64_t length) {
  int64_t i = 0;
  for (; i + 4 * WIDTH <= length; i += 4 * WIDTH) {
    vector a = load(y + i), b = load(y + i + WIDTH);
    vector c = load(y + i + 2 * WIDTH), d = load(y + i + 3 * WIDTH);
    const float *from = x + i;
    for (int64_t t = 0; t < taps; t++, from += step) {
      a += w[t] * load(from);
      b += w[t] * load(from + WIDTH);
      c += w[t] * load(from + 2 * WIDTH);
      d += w[t] * load(from + 3 * WIDTH);
    }
    store(y + i, a);
    store(y + i + WIDTH, b);
    store(y + i + 2 * WIDTH, c);
    store(y + i + 3 * WIDTH, d);
  }
  return i;
}

static void correlate(float *y, const float *x, const float *w, int64_t taps, int64_t step,
                      int64_t length) {
  int64_t i = correlate_wide(y, x, w, taps, step, length);
  for (; i + WIDTH <= length; i += WIDTH) {
    vector a = load(y + i);
    for (int64_t t = 0; t < taps; t++) a += w[t] * load(x + i + t * step);
    store(y + i, a);
  }
  for (; i + 4 <= length; i += 4) {
    quad a = *(const quad *)(y + i);
    for (int64_t t = 0; t < taps; t++) a += w[t] * *(const quad *)(x + i + t * step);
    *(quad *)(y + i) = a;
  }
  for (; i < length; i++)
    for (int64_t t = 0; t < taps; t++) y[i] += w[t] * x[i + t * step];
}

/* Strides 1 and 2 are written out so that the compiler sees constants and can vectorise. */
static void axpy(float *restrict y, int64_t ys, const float *restrict x, int64_t xs, float w,
                 int64_t length) {
  if (ys == 1 && xs == 1)
    for (int64_t i = 0; i < length; i++) y[i] += w * x[i];
  else if (ys == 1 && xs == 2)
    for (int64_t i = 0; i < length; i++) y[i] += w * x[2 * i];
  else if (ys == 2 && xs == 1)
    for (int64_t i = 0; i < length; i++) y[2 * i] += w * x[i];
  else
    for (int64_t i = 0; i < length; i++) y[ys * i] += w * x[xs * i];
}

static void gather(float *restrict to, const float *restrict from, int64_t stride, int64_t length) {
  if (stride == 1)
    for (int64_t i = 0; i < length; i++) to[i] = from[i];
  else if (stride == 2)
    for (int64_t i = 0; i < length; i++) to[i] = from[2 * i];
  else
    for (int64_t i = 0; i < length; i++) to[i] = from[stride * i];
}

/* Stride 2 keeps what lies between, four at a time, except behind the last. */
static void scatter(float *to, int64_t stride, const float *from, int64_t length) {
  int64_t i = 0;
  for (; stride == 2 && i + 4 < length; i += 4) {
    quad v = *(const quad *)(from + i), *y = (quad *)(to + 2 * i), *z = (quad *)(to + 2 * i + 4);
    *y = __builtin_shufflevector(v, *y, 0, 5, 1, 7);
    *z = __builtin_shufflevector(v, *z, 2, 5, 3, 7);
  }
  for (; i < length; i++) to[i * stride] = from[i];
}

/* A square of four by four: pairs of floats, then pairs of pairs. */
static inline void turn(float *to, int64_t to_pitch, const float *from, int64_t from_pitch) {
  quad a = *(const quad *)from, b = *(const quad *)(from + from_pitch);
  quad c = *(const quad *)(from + 2 * from_pitch), d = *(const quad *)(from + 3 * from_pitch);
  quad e = __builtin_shufflevector(a, b, 0, 4, 1, 5), f = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  quad g = __builtin_shufflevector(c, d, 0, 4, 1, 5), h = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *(quad *)to = __builtin_shufflevector(e, g, 0, 1, 4, 5);
  *(quad *)(to + to_pitch) = __builtin_shufflevector(e, g, 2, 3, 6, 7);
  *(quad *)(to + 2 * to_pitch) = __builtin_shufflevector(f, h, 0, 1, 4, 5);
  *(quad *)(to + 3 * to_pitch) = __builtin_shufflevector(f, h, 2, 3, 6, 7);
}

/* A line of the cache each way: every line is read and written once. */
#define TURNED 16

static inline void turn_lines(float *to, int64_t to_pitch, const float *from, int64_t from_pitch,
                              int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i += 4) {
    for (int64_t j = 0; j < columns; j += 4)
      turn(to + j * to_pitch + i, to_pitch, from + i * from_pitch + j, from_pitch);
  }
}

static void transpose(float *to, int64_t to_pitch, const float *from, int64_t from_pitch,
                      int64_t rows, int64_t columns) {
  int64_t square_rows = rows / 4 * 4, square_columns = columns / 4 * 4;
  for (int64_t i = 0; i < square_rows; i += TURNED) {
    for (int64_t j = 0; j < square_columns; j += TURNED) {
      turn_lines(to + j * to_pitch + i, to_pitch, from + i * from_pitch + j, from_pitch,
                 square_rows - i < TURNED ? square_rows - i : TURNED,
                 square_columns - j < TURNED ? square_columns - j : TURNED);
    }
  }
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t i = j < square_columns ? square_rows : 0; i < rows; i++)
      to[j * to_pitch + i] = from[i * from_pitch + j];
  }
}

static void pack(float *to, const float *from, const cvy_copy_run *runs, int64_t count,
                 bool loose) {
  for (int64_t r = 0; r < count; r++) {
    const float *x = from + runs[r].from;
    float *y = to + runs[r].to;
    int64_t i = 0, n = runs[r].count;
    for (; i + WIDTH <= n; i += WIDTH) store(y + i, load(x + i));
    if (loose && i < n) store(y + i, load(x + i));
    for (; !loose && i < n; i++) y[i] = x[i];
  }
}

/* Rows are often short: the last vector, or four, overlaps the one before it. */
static inline void copy_row(float *to, const float *from, int64_t length) {
  if (length >= WIDTH) {
    for (int64_t i = 0; i + WIDTH < length; i += WIDTH) store(to + i, load(from + i));
    store(to + length - WIDTH, load(from + length - WIDTH));
  } else if (length >= 4) {
    for (int64_t i = 0; i + 4 < length; i += 4) *(quad *)(to + i) = *(const quad *)(from + i);
    *(quad *)(to + length - 4) = *(const quad *)(from + length - 4);
  } else {
    for (int64_t i = 0; i < length; i++) to[i] = from[i];
  }
}

/* AVX2 picks from two registers within their halves only. Pairs picked so, in the order of the
 * floats: two shuffles, of which GCC would make five if it saw both. */
static inline vector in_order(vector v) {
#if WIDTH == 8
  __asm__("" : "+v"(v));
  v = __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
#endif
  return v;
}

/* Every second of seven, which are all that may be read. */
static inline void gather_four(float *to, const float *from) {
  quad a = *(const quad *)from, b = *(const quad *)(from + 3);
  *(quad *)to = __builtin_shufflevector(a, b, 0, 2, 5, 7);
}

#if WIDTH == 16
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31
#elif WIDTH == 8
#define EVENS 0, 2, 9, 11, 4, 6, 13, 15
#else
#define EVENS 0, 2, 5, 7
#endif

/* The same of a whole vector. */
static inline void gather_vector(float *to, const float *from) {
  store(to, in_order(__builtin_shufflevector(load(from), load(from + WIDTH - 1), EVENS)));
}

static inline void gather_row(float *to, const float *from, int64_t stride, int64_t length) {
  if (stride == 2 && length >= WIDTH) {
    for (int64_t i = 0; i + WIDTH < length; i += WIDTH) gather_vector(to + i, from + 2 * i);
    gather_vector(to + length - WIDTH, from + 2 * (length - WIDTH));
  } else if (stride == 2 && length >= 4) {
    for (int64_t i = 0; i + 4 < length; i += 4) gather_four(to + i, from + 2 * i);
    gather_four(to + length - 4, from + 2 * (length - 4));
  } else {
    for (int64_t i = 0; i < length; i++) to[i] = from[i * stride];
  }
}

static void gather_rows(const cvy_copy_rows *r, int64_t stride) {
  float *to = r->to;
  const float *from = r->from;
  for (int64_t i = 0; i < r->rows; i++, to += r->to_pitch, from += r->from_pitch) {
    if (stride == 1)
      copy_row(to, from, r->length);
    else
      gather_row(to, from, stride, r->length);
  }
}

static void scatter_rows(const cvy_copy_rows *r, int64_t stride) {
  float *to = r->to;
  const float *from = r->from;
  for (int64_t i = 0; i < r->rows; i++, to += r->to_pitch, from += r->from_pitch) {
    if (stride == 1)
      copy_row(to, from, r->length);
    else
      for (int64_t j = 0; j < r->length; j++) to[j * stride] = from[j];
  }
}

/* Short rows are read whole vectors at a time as far as rows follow. */
static void pad_rows(const cvy_copy_rows *r) {
  vector_mask inside = ~mask_from(r->length);
  float *to = r->to;
  const float *from = r->from;
  int64_t left = (r->rows - 1) * r->from_pitch + r->length;
  for (int64_t i = 0; i < r->rows; i++, left -= r->from_pitch) {
    if (r->length < WIDTH && left >= WIDTH)
      store(to, (vector)((vector_mask)load(from) & inside));
    else
      copy_row(to, from, r->length);
    to += r->to_pitch;
    from += r->from_pitch;
  }
}

static inline void split_four(float *even, float *odd, const float *from) {
  quad a = *(const quad *)from, b = *(const quad *)(from + 4);
  *(quad *)even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  *(quad *)odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

static inline void split_row(float *restrict even, float *restrict odd, const float *restrict from,
                             int64_t pairs) {
  int64_t i = 0;
  for (; i + WIDTH <= pairs; i += WIDTH) {
    vector a = load(from + 2 * i), b = load(from + 2 * i + WIDTH);
    store(even + i, in_order(__builtin_shufflevector(a, b, EVEN_OF_TWO)));
    store(odd + i, in_order(__builtin_shufflevector(a, b, ODD_OF_TWO)));
  }
  for (; i + 4 <= pairs; i += 4) split_four(even + i, odd + i, from + 2 * i);
  if (i < pairs && pairs >= 4) {
    split_four(even + pairs - 4, odd + pairs - 4, from + 2 * (pairs - 4));
    return;
  }
  for (; i < pairs; i++) {
    even[i] = from[2 * i];
    odd[i] = from[2 * i + 1];
  }
}

static inline void join_four(float *to, const float *even, const float *odd) {
  quad a = *(const quad *)even, b = *(const quad *)odd;
  *(quad *)to = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  *(quad *)(to + 4) = __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

static inline void join_row(float *restrict to, const float *restrict even,
                            const float *restrict odd, int64_t pairs) {
  int64_t i = 0;
  for (; i + WIDTH <= pairs; i += WIDTH) {
    vector a = load(even + i), b = load(odd + i);
    store(to + 2 * i, __builtin_shufflevector(a, b, FIRST_PAIRS));
    store(to + 2 * i + WIDTH, __builtin_shufflevector(a, b, LAST_PAIRS));
  }
  for (; i + 4 <= pairs; i += 4) join_four(to + 2 * i, even + i, odd + i);
  if (i < pairs && pairs >= 4) {
    join_four(to + 2 * (pairs - 4), even + pairs - 4, odd + pairs - 4);
    return;
  }
  for (; i < pairs; i++) {
    to[2 * i] = even[i];
    to[2 * i + 1] = odd[i];
  }
}

static void split_rows(const cvy_copy_rows *r, int64_t odd) {
  float *to = r->to;
  const float *from = r->from;
  for (int64_t i = 0; i < r->rows; i++, to += r->to_pitch, from += r->from_pitch) {
    split_row(to, to + odd, from, r->length / 2);
    if (r->length % 2) to[r->length / 2] = from[r->length - 1];
  }
}

static void join_rows(const cvy_copy_rows *r, int64_t odd) {
  float *to = r->to;
  const float *from = r->from;
  for (int64_t i = 0; i < r->rows; i++, to += r->to_pitch, from += r->from_pitch) {
    join_row(to, from, from + odd, r->length / 2);
    if (r->length % 2) to[r->length - 1] = from[r->length / 2];
  }
}

static double add_lanes(vector a) {
  quad fours[WIDTH / 4], sum;
  memcpy(fours, &a, sizeof a);
  sum = fours[0];
  for (int i = 1; i < WIDTH / 4; i++) sum += fours[i];
  return ((double)sum[0] + (double)sum[1]) + ((double)sum[2] + (double)sum[3]);
}

/* One row; the vector part stays in *a and *b, the rest is returned. */
static inline float dot_row(const float *x, const float *y, int64_t length, vector *a, vector *b) {
  int64_t i = 0;
  for (; i + 2 * WIDTH <= length; i += 2 * WIDTH) {
    *a += load(x + i) * load(y + i);
    *b += load(x + i + WIDTH) * load(y + i + WIDTH);
  }
  for (; i + WIDTH <= length; i += WIDTH) *a += load(x + i) * load(y + i);
  float rest = 0;
  for (; i < length; i++) rest += x[i] * y[i];
  return rest;
}

static float dot_strided(const float *x, const float *y, int64_t stride, int64_t length) {
  float sum[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= length; i += 8)
    for (int j = 0; j < 8; j++) sum[j] += x[i + j] * y[(i + j) * stride];
  for (; i < length; i++) sum[0] += x[i] * y[i * stride];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static double dot(const cvy_plane_pair *p) {
  vector a = {0}, b = {0};
  double rest = 0;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->a + r * p->a_pitch, *y = p->b + r * p->b_pitch;
    rest += (double)(p->b_stride == 1 ? dot_row(x, y, p->length, &a, &b)
                                      : dot_strided(x, y, p->b_stride, p->length));
  }
  return rest + add_lanes(a + b);
}

static double sum(const float *x, int64_t length) {
  double part[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= length; i += 8)
    for (int j = 0; j < 8; j++) part[j] += (double)x[i + j];
  for (; i < length; i++) part[0] += (double)x[i];
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* ReLU tests for <= 0 and leaky ReLU multiplies, so that a NaN stays in both; ReLU does not
 * multiply, for 0 times -infinity would make one. */
static void epilogue(float *y, float bias, float slope, int64_t length) {
  if (slope == 1.0f) {
    for (int64_t i = 0; i < length; i++) y[i] += bias;
  } else if (slope == 0.0f) {
    for (int64_t i = 0; i < length; i++) {
      float v = y[i] + bias;
      y[i] = v <= 0.0f ? 0.0f : v;
    }
  } else {
    for (int64_t i = 0; i < length; i++) {
      float v = y[i] + bias;
      y[i] = v > 0.0f ? v : v * slope;
    }
  }
}

static double fma_peak_loop(int64_t rounds, float *sink) {
  vector a[PEAK_SUMS], factor = {0}, term = {0};
  for (int i = 0; i < PEAK_SUMS; i++) a[i] = factor + (float)i;
  factor += 0.5f;
  term += sink[0];
  for (int64_t r = 0; r < rounds; r++)
    for (int i = 0; i < PEAK_SUMS; i++) a[i] = a[i] * factor + term;
  for (int i = 1; i < PEAK_SUMS; i++) a[0] += a[i];
  sink[0] = a[0][0];
  return 2.0 * PEAK_SUMS * WIDTH * (double)rounds;
}

#include "cpu/isa/inner_products_body.h"
#include "cpu/isa/interleave_body.h"
#include "cpu/isa/microkernel_body.h"
#include "cpu/isa/stencil_body.h"
#include "cpu/isa/winograd_body.h"

#define SIMD_TABLE(text)                                                                         \
  {                                                                                              \
    .name = text, .correlate = correlate, .axpy = axpy, .gather_rows = gather_rows,              \
    .pad_rows = pad_rows, .scatter_rows = scatter_rows, .split_rows = split_rows,                \
    .join_rows = join_rows, .gather = gather, .scatter = scatter, .dot = dot, .sum = sum,        \
    .epilogue = epilogue, .fma_peak_loop = fma_peak_loop, .transpose = transpose, .pack = pack,  \
    .microkernel = {TILE_ROWS, WIDTH, {tile_1, tile_2, tile_3}},                                 \
    .narrow_microkernel = {NARROW_ROWS, WIDTH, {narrow_1, narrow_2, narrow_3}},                  \
    .sums = stencil_sums, .dots = stencil_dots, .interleave = interleave,                        \
    .deinterleave = deinterleave, .inner_products = {INNER_ROWS, INNER_COLUMNS, inner_products}, \
    .winograd = WINOGRAD_TABLES,                                                                 \
  }
