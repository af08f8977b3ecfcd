/* Bodies of the loops that copy: transposing, and rows of all kinds. The including file sets the
 * orders of elements that part two registers into even and odd elements, and that join them in
 * pairs. */

/* Transposes a square of four by four: pairs of floats, then pairs of pairs. */
static inline void transpose_square(float *to, int64_t to_pitch, const float *from,
                                    int64_t from_pitch) {
  quad a = *(const quad *)from, b = *(const quad *)(from + from_pitch);
  quad c = *(const quad *)(from + 2 * from_pitch), d = *(const quad *)(from + 3 * from_pitch);
  quad e = __builtin_shufflevector(a, b, 0, 4, 1, 5), f = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  quad g = __builtin_shufflevector(c, d, 0, 4, 1, 5), h = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *(quad *)to = __builtin_shufflevector(e, g, 0, 1, 4, 5);
  *(quad *)(to + to_pitch) = __builtin_shufflevector(e, g, 2, 3, 6, 7);
  *(quad *)(to + 2 * to_pitch) = __builtin_shufflevector(f, h, 0, 1, 4, 5);
  *(quad *)(to + 3 * to_pitch) = __builtin_shufflevector(f, h, 2, 3, 6, 7);
}

/* Floats each way that are transposed together: a line of the cache, so that every line is read and
 * written once. */
#define TRANSPOSED 16

static inline void transpose_lines(float *to, int64_t to_pitch, const float *from,
                                   int64_t from_pitch, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i += 4) {
    for (int64_t j = 0; j < columns; j += 4)
      transpose_square(to + j * to_pitch + i, to_pitch, from + i * from_pitch + j, from_pitch);
  }
}

static void transpose(float *to, int64_t to_pitch, const float *from, int64_t from_pitch,
                      int64_t rows, int64_t columns) {
  int64_t square_rows = rows / 4 * 4, square_columns = columns / 4 * 4;
  for (int64_t i = 0; i < square_rows; i += TRANSPOSED) {
    for (int64_t j = 0; j < square_columns; j += TRANSPOSED) {
      transpose_lines(to + j * to_pitch + i, to_pitch, from + i * from_pitch + j, from_pitch,
                      square_rows - i < TRANSPOSED ? square_rows - i : TRANSPOSED,
                      square_columns - j < TRANSPOSED ? square_columns - j : TRANSPOSED);
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

/* Rows are often short, so the last vector, or the last four floats, overlaps the one before it. */
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

/* Puts pairs in the order of the floats. AVX2 picks from two registers within their halves only, so
 * what it picked is out of order. That makes two shuffles, of which GCC would make five if it saw
 * both. */
static inline vector in_order(vector v) {
#if WIDTH == 8
  __asm__("" : "+v"(v));
  v = __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
#endif
  return v;
}

/* Gathers every second of seven floats, which are all that may be read. */
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

/* Does the same for a whole vector. */
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

/* Short rows are read in whole vectors as far as rows follow. */
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

static void add_rows(const cvy_copy_rows *r) {
  float *restrict to = r->to;
  const float *restrict from = r->from;
  for (int64_t k = 0; k < r->rows; k++, to += r->to_pitch, from += r->from_pitch) {
    int64_t i = 0;
    for (; i + WIDTH <= r->length; i += WIDTH) store(to + i, load(to + i) + load(from + i));
    for (; i + 4 <= r->length; i += 4) *(quad *)(to + i) += *(const quad *)(from + i);
    for (; i < r->length; i++) to[i] += from[i];
  }
}

static void divide_rows(const cvy_copy_rows *r, const float *by) {
  float *restrict to = r->to;
  const float *restrict from = r->from;
  for (int64_t k = 0; k < r->rows; k++, to += r->to_pitch, from += r->from_pitch) {
    int64_t i = 0;
    for (; i + WIDTH <= r->length; i += WIDTH) store(to + i, load(from + i) / load(by + i));
    for (; i + 4 <= r->length; i += 4)
      *(quad *)(to + i) = *(const quad *)(from + i) / *(const quad *)(by + i);
    for (; i < r->length; i++) to[i] = from[i] / by[i];
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
