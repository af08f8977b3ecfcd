/* Body of the stencils. Filters of up to 7 rows, as far apart as the result rows or half as far,
 * are unrolled over a tile of result rows, so that a vector of x is loaded once for all results
 * that it is a tap of. All others go through their list of taps. */
#include "cpu/isa/cache.h"
#include "cpu/isa/stencil.h"

#define STENCIL_ROWS 8   /* of results, at most */
#define STENCIL_DOWN 7   /* filter rows */
#define STENCIL_TERMS 64 /* of a block of a sum of dots, in each element of a vector */

/* Loads a register for several uses. GCC alone would read memory again for each. */
static inline vector load_once(const float *from) {
  vector v = load(from);
#if IN_REGISTER
  __asm__("" : "+v"(v));
#endif
  return v;
}

static inline vector weight_of(const cvy_stencil *s, const float *w, int64_t tap) {
  if (s->interleaved) return load(w + tap * WIDTH);
  return w[tap] - (vector){0};
}

/* The result row of a tile for which x row i is tap row r, or -1 if there is none. */
ALWAYS int tile_row(const int i, const int r, const int step, const int rows) {
  return i >= r && (i - r) % step == 0 && (i - r) / step < rows ? (i - r) / step : -1;
}

/* --------------------------------------------------------------------------------- prefetch */

static inline void prefetch_step(cvy_prefetch *a) {
  const float *end = a->end - a->at > a->step ? a->at + a->step : a->end;
  if (a->write)
    for (; a->at < end; a->at += CVY_LINE_FLOATS) __builtin_prefetch(a->at, 1);
  else
    for (; a->at < end; a->at += CVY_LINE_FLOATS) __builtin_prefetch(a->at);
}

static inline void prefetch_some(const cvy_stencil *s) {
  if (!s->prefetch) return;
  prefetch_step(&s->prefetch[0]);
  prefetch_step(&s->prefetch[1]);
}

/* ------------------------------------------------------------------------------------- sums */

/* Sums for `rows` results above each other. x rows are `pitch` apart, and `step` of them lie from
 * result to result. */
ALWAYS void sum_vectors(const cvy_stencil *s, const float *w, const float *x, int64_t pitch,
                        float *y, int64_t y_pitch, const int rows, const int down, const int step) {
  vector sum[STENCIL_ROWS], weight[STENCIL_DOWN];
  UNROLL(8)
  for (int o = 0; o < rows; o++) sum[o] = (vector){0};
  for (int64_t k = 0; k < s->across; k++) {
    const float *from = x + s->shift[k];
    UNROLL(8)
    for (int r = 0; r < down; r++) weight[r] = weight_of(s, w, r * s->across + k);
    UNROLL(24)
    for (int i = 0; i < (rows - 1) * step + down; i++, from += pitch) {
      vector v = load_once(from);
      UNROLL(8)
      for (int r = 0; r < down; r++)
        if (tile_row(i, r, step, rows) >= 0) sum[tile_row(i, r, step, rows)] += weight[r] * v;
    }
  }
  UNROLL(8)
  for (int o = 0; o < rows; o++) store(y + o * y_pitch, sum[o]);
}

/* The last vector of a row overlaps the one before it. A row shorter than a vector goes through
 * memory. */
ALWAYS void sum_rows(const cvy_stencil *s, const float *w, int64_t first, float *y, int64_t y_pitch,
                     const int rows, const int down, const int step) {
  const float *x = s->x + first * s->x_step;
  int64_t pitch = down > 1 ? s->tap_step : s->x_step, last = s->length - WIDTH;
  y += first * y_pitch;
  for (int64_t i = 0; last >= 0 && i < s->length; i += WIDTH) {
    int64_t at = i < last ? i : last;
    prefetch_some(s);
    sum_vectors(s, w, x + at, pitch, y + at, y_pitch, rows, down, step);
  }
  if (last >= 0) return;
  prefetch_some(s);
  float whole[STENCIL_ROWS * WIDTH];
  int64_t room = s->loose ? (s->rows - 1 - first) * y_pitch + s->length : 0;
  sum_vectors(s, w, x, pitch, whole, WIDTH, rows, down, step);
  UNROLL(8)
  for (int o = 0; o < rows; o++) {
    if (o * y_pitch + WIDTH <= room)
      store(y + o * y_pitch, load(whole + o * WIDTH));
    else
      copy_row(y + o * y_pitch, whole + o * WIDTH, s->length);
  }
}

/* Goes in tiles of rows, of which the last overlaps the one before it. */
ALWAYS void sum_tiles(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch,
                      const int rows, const int down, const int step) {
  for (int64_t o = 0; o < s->rows; o += rows)
    sum_rows(s, w, o < s->rows - rows ? o : s->rows - rows, y, y_pitch, rows, down, step);
}

/* Tiles of 7 rows are for networks on ImageNet, whose planes have 7, 14, 28, 56 or 112 rows, and
 * whose filters are mostly 3x3. */
ALWAYS void sum_all(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch, const int down,
                    const int step) {
  if (s->rows % 7 == 0 && down <= 3)
    sum_tiles(s, w, y, y_pitch, 7, down, step);
  else if (s->rows >= 8)
    sum_tiles(s, w, y, y_pitch, 8, down, step);
  else if (s->rows >= 4)
    sum_tiles(s, w, y, y_pitch, 4, down, step);
  else
    sum_tiles(s, w, y, y_pitch, 1, down, step);
}

static void sums_1(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 1, 1);
}

static void sums_2(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 2, 1);
}

static void sums_3(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 3, 1);
}

static void sums_4(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 4, 1);
}

static void sums_5(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 5, 1);
}

static void sums_7(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 7, 1);
}

static void sums_3_apart(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 3, 2);
}

static void sums_5_apart(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 5, 2);
}

static void sums_7_apart(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  sum_all(s, w, y, y_pitch, 7, 2);
}

/* 1 where the rows of the filter lie as the results do, 2 where they lie half as far apart, else
 * 0. */
static inline int stencil_step(const cvy_stencil *s) {
  if (s->down > STENCIL_DOWN) return 0;
  return s->x_step == s->tap_step ? 1 : s->x_step == 2 * s->tap_step ? 2 : 0;
}

/* The same with all taps in one row of a filter. */
static inline cvy_stencil as_list(const cvy_stencil *s) {
  cvy_stencil list = *s;
  list.across = s->across * s->down;
  list.down = 1;
  return list;
}

/* One long row, in which vectors beside each other take the place of rows. */
static cvy_stencil as_vectors(const cvy_stencil *s, int64_t row) {
  cvy_stencil vectors = as_list(s);
  vectors.x = s->x + row * s->x_step;
  vectors.x_step = WIDTH;
  vectors.rows = s->length / WIDTH;
  vectors.length = WIDTH;
  return vectors;
}

static bool has_few_long_rows(const cvy_stencil *s) {
  return s->rows < 4 && s->length >= 4 * WIDTH;
}

static void sum_long(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  for (int64_t o = 0; o < s->rows; o++, y += y_pitch) {
    cvy_stencil vectors = as_vectors(s, o);
    sums_1(&vectors, w, y, WIDTH);
    int64_t last = s->length - WIDTH;
    vectors.rows = 1;
    vectors.x += last;
    if (s->length % WIDTH != 0) sums_1(&vectors, w, y + last, WIDTH);
  }
}

static void stencil_sums(const cvy_stencil *s, const float *w, float *y, int64_t y_pitch) {
  static cvy_stencil_sums *const by_rows[3][STENCIL_DOWN + 1] = {
      [1] = {NULL, sums_1, sums_2, sums_3, sums_4, sums_5, NULL, sums_7},
      [2] = {NULL, NULL, NULL, sums_3_apart, NULL, sums_5_apart, NULL, sums_7_apart},
  };
  if (s->length <= 0 || s->rows <= 0) return;
  if (has_few_long_rows(s)) {
    sum_long(s, w, y, y_pitch);
    return;
  }
  int step = stencil_step(s);
  cvy_stencil_sums *run = step ? by_rows[step][s->down] : NULL;
  cvy_stencil list = as_list(s);
  if (run)
    run(s, w, y, y_pitch);
  else
    sums_1(&list, w, y, y_pitch);
}

/* ------------------------------------------------------------------------------------- dots */

#define DOTS_ROWS 4

/* Lets taps k to k + block of each filter row meet `rows` rows of y. */
ALWAYS void dot_vectors(vector *sum, const cvy_stencil *s, int64_t k, const float *x,
                        const float *y, int64_t y_pitch, vector_mask mask, const int rows,
                        const int block, const int down, const int step) {
  int64_t pitch = down > 1 ? s->tap_step : s->x_step;
  vector dy[DOTS_ROWS];
  UNROLL(8)
  for (int o = 0; o < rows; o++) dy[o] = (vector)((vector_mask)load(y + o * y_pitch) & mask);
  UNROLL(24)
  for (int i = 0; i < (rows - 1) * step + down; i++, x += pitch) {
    UNROLL(8)
    for (int b = 0; b < block; b++) {
      vector v = load_once(x + s->shift[k + b]);
      UNROLL(8)
      for (int r = 0; r < down; r++) {
        if (tile_row(i, r, step, rows) >= 0)
          sum[b * down + r] += dy[tile_row(i, r, step, rows)] * v;
      }
    }
  }
}

/* Adds blocks of sums to those in memory, and begins new ones. */
ALWAYS void add_dots(const cvy_stencil *s, int64_t k, float *sums, vector *sum, const int block,
                     const int down) {
  UNROLL(16)
  for (int t = 0; t < block * down; t++) {
    float *to = sums + (t % down * s->across + k + t / down) * CVY_WIDEST_VECTOR;
    store(to, load(to) + sum[t]);
    sum[t] = (vector){0};
  }
}

ALWAYS void dot_taps(const cvy_stencil *s, int64_t k, const float *y, int64_t y_pitch, float *sums,
                     const int block, const int down, const int step) {
  vector sum[STENCIL_DOWN * 2 + 2];
  int64_t terms = 0;
  UNROLL(16)
  for (int t = 0; t < block * down; t++) sum[t] = (vector){0};
  for (int64_t i = 0; i < s->length; i += WIDTH, terms += s->rows) {
    int64_t at = i + WIDTH <= s->length ? i : s->length - WIDTH, o = 0;
    vector_mask mask =
        mask_from(i - at); /* what the last vector has in common with the one before counts as 0 */
    prefetch_some(s);
    if (terms + s->rows > STENCIL_TERMS && terms > 0) {
      add_dots(s, k, sums, sum, block, down);
      terms = 0;
    }
    for (; o + DOTS_ROWS <= s->rows; o += DOTS_ROWS) {
      dot_vectors(sum, s, k, s->x + o * s->x_step + at, y + o * y_pitch + at, y_pitch, mask,
                  DOTS_ROWS, block, down, step);
    }
    for (; o < s->rows; o++) {
      dot_vectors(sum, s, k, s->x + o * s->x_step + at, y + o * y_pitch + at, y_pitch, mask, 1,
                  block, down, step);
    }
  }
  add_dots(s, k, sums, sum, block, down);
}

ALWAYS void dot_all(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums,
                    const int block, const int down, const int step) {
  int64_t k = 0;
  for (; k + block <= s->across; k += block) dot_taps(s, k, y, y_pitch, sums, block, down, step);
  for (; k < s->across; k++) dot_taps(s, k, y, y_pitch, sums, 1, down, step);
}

static void dots_1(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 8, 1, 1);
}

static void dots_3(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 3, 3, 1);
}

static void dots_5(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 2, 5, 1);
}

static void dots_7(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 1, 7, 1);
}

static void dots_3_apart(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 3, 3, 2);
}

static void dots_5_apart(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 2, 5, 2);
}

static void dots_7_apart(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  dot_all(s, y, y_pitch, sums, 1, 7, 2);
}

/* Vectors beside each other take the place of rows. Then comes what is left of each row. */
static void dot_long(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  for (int64_t o = 0; o < s->rows; o++, y += y_pitch) {
    cvy_stencil vectors = as_vectors(s, o);
    dots_1(&vectors, y, WIDTH, sums);
    /* The row ends with a part of a vector. It is taken as a whole one, of which what counts
     * already is 0. */
    float rest[WIDTH] = {0};
    int64_t done = vectors.rows * WIDTH, left = s->length - done;
    for (int64_t i = 0; i < left; i++) rest[WIDTH - left + i] = y[done + i];
    vectors.rows = 1;
    vectors.x += s->length - WIDTH;
    if (left > 0) dots_1(&vectors, rest, WIDTH, sums);
  }
}

static void stencil_dots(const cvy_stencil *s, const float *y, int64_t y_pitch, float *sums) {
  static cvy_stencil_dots *const by_rows[3][STENCIL_DOWN + 1] = {
      [1] = {NULL, dots_1, NULL, dots_3, NULL, dots_5, NULL, dots_7},
      [2] = {NULL, NULL, NULL, dots_3_apart, NULL, dots_5_apart, NULL, dots_7_apart},
  };
  if (has_few_long_rows(s)) {
    dot_long(s, y, y_pitch, sums);
    return;
  }
  int step = stencil_step(s);
  cvy_stencil_dots *run = step ? by_rows[step][s->down] : NULL;
  cvy_stencil list = as_list(s);
  if (run)
    run(s, y, y_pitch, sums);
  else
    dots_1(&list, y, y_pitch, sums);
}
