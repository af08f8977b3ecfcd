/* The kernels of single algorithms, for every instruction set this processor has, are compared with
 * plain loops on integers, where results must be equal. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "cpu/isa/cache.h"
#include "cpu/simd_sets.h"

/* ---------------------------------------------------------------------------------- stencils */

/* Where tap t of result (o, i) lies. */
static const float *tap(const cvy_stencil *s, int64_t t, int64_t o, int64_t i) {
  return s->x + o * s->x_step + t / s->across * s->tap_step + s->shift[t % s->across] + i;
}

#define AHEAD 40 /* floats, which end within a line */

static void set_prefetch(cvy_prefetch *prefetch) {
  prefetch[0] = (cvy_prefetch){x, x + AHEAD, AHEAD, false};
  prefetch[1] = (cvy_prefetch){y, y + AHEAD, AHEAD, true};
}

static void expect_prefetched(const cvy_prefetch *prefetch) {
  for (int i = 0; i < 2; i++)
    assert_in_range(prefetch[i].at - prefetch[i].end, 0, CVY_LINE_FLOATS - 1);
}

static void check_sums(const cvy_simd *simd, const cvy_stencil *s, const float *weights) {
  fill();
  for (int64_t o = 0; o < s->rows; o++) {
    for (int64_t i = 0; i < s->length; i++) {
      float *to = &expected[o * ROW + i];
      *to = 0;
      for (int64_t t = 0; t < s->across * s->down; t++) {
        *to += weights[s->interleaved ? t * simd->microkernel.width + i % simd->microkernel.width
                                      : t] *
               *tap(s, t, o, i);
      }
    }
  }
  set_prefetch(s->prefetch);
  simd->sums(s, weights, y, ROW);
  expect_equal();
  expect_prefetched(s->prefetch);
}

static void check_dots(const cvy_simd *simd, const cvy_stencil *s) {
  float sums[8 * 3 * CVY_WIDEST_VECTOR] = {0};
  if (s->length < simd->microkernel.width) return; /* the contract excludes it */
  fill();
  set_prefetch(s->prefetch);
  simd->dots(s, y, ROW, sums);
  expect_prefetched(s->prefetch);
  for (int64_t t = 0; t < s->across * s->down; t++) {
    double sum = 0;
    for (int64_t o = 0; o < s->rows; o++) {
      for (int64_t i = 0; i < s->length; i++)
        sum += (double)y[o * ROW + i] * (double)*tap(s, t, o, i);
    }
    assert_true(simd->sum(sums + t * CVY_WIDEST_VECTOR, CVY_WIDEST_VECTOR) == sum);
  }
}

/* Filter rows are as far apart as results, half as far, and neither. */
static void check_stencil(const cvy_simd *simd, int64_t down, int64_t rows, int64_t length) {
  int64_t shift[8 * 3];
  float weights[8 * 3 * CVY_WIDEST_VECTOR];
  test_random random = {7};
  test_fill_integers(&random, weights, 8 * 3 * CVY_WIDEST_VECTOR);
  for (int64_t apart = 1; apart <= 3; apart++) {
    for (int64_t t = 0; t < 3 * down; t++) shift[t] = t / 3 * ROW + t % 3 * 2;
    cvy_prefetch prefetch[2];
    cvy_stencil s = {x, shift, 3, down, apart * ROW, ROW, rows, length, prefetch, false, false};
    check_sums(simd, &s, weights);
    check_dots(simd, &s);
    s.interleaved = true;
    if (length % simd->microkernel.width == 0) check_sums(simd, &s, weights);
  }
}

static void stencils_equal_plain_loops(void **state) {
  (void)state;
  for (int set = 0; set < set_count; set++) {
    for (int64_t down = 1; down <= 8; down++) {
      for (int64_t rows = 1; rows <= 13; rows += 2) {
        for (int64_t length = 1; length <= 57; length += length == 1 ? 3 : 4)
          check_stencil(sets[set], down, rows, length);
      }
    }
  }
}

/* Planes of `count` elements, which go to places in reverse order with gaps between them. */
static void check_interleaving(const cvy_simd *simd, int64_t planes, int64_t count, bool add) {
  int32_t place[ROW];
  int64_t width = simd->microkernel.width;
  for (int64_t i = 0; i < count; i++) place[i] = (int32_t)(2 * width * (count - 1 - i));
  cvy_interleaving of = {planes, ROW, count, place, add};
  fill();
  for (int64_t i = 0; i < planes * count; i++)
    expected[place[i / planes] + i % planes] = x[i % planes * ROW + i / planes];
  simd->interleave(&of, y, x);
  expect_equal();
  fill();
  for (int64_t i = 0; i < planes * count; i++) {
    float *to = &expected[i % planes * ROW + i / planes];
    *to = (add ? *to : 0) + x[place[i / planes] + i % planes];
  }
  simd->deinterleave(&of, y, x);
  expect_equal();
}

static void interleaving_equals_plain_loops(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    for (int64_t planes = 1; planes <= sets[s]->microkernel.width; planes++) {
      for (int64_t count = 1; count < ROW; count++) {
        check_interleaving(sets[s], planes, count, false);
        check_interleaving(sets[s], planes, count, true);
      }
    }
  }
}

/* ------------------------------------------------------------------------------ microkernel */

#define CHANNELS 5
#define TAPS 3
#define PITCH 97

static void check_tile(const cvy_microkernel *kernel, int vectors, int64_t block, bool add) {
  const int64_t tap[TAPS] = {0, 7, 19};
  int64_t columns = vectors * kernel->width;
  float filters[CHANNELS * TAPS * 8];
  test_random random = {5};
  fill();
  test_fill_integers(&random, filters, CHANNELS * TAPS * kernel->rows);
  for (int64_t r = 0; r < kernel->rows; r++) {
    for (int64_t i = 0; i < columns; i++) {
      float *to = &expected[r * PITCH + i];
      if (!add) *to = 0;
      for (int64_t c = 0; c < CHANNELS; c++) {
        for (int64_t t = 0; t < TAPS; t++)
          *to += filters[(c * TAPS + t) * kernel->rows + r] * x[c * PITCH + tap[t] + i];
      }
    }
  }
  cvy_microkernel_tile tile = {x, filters, y, tap, TAPS, CHANNELS, block, PITCH, PITCH, add};
  kernel->run[vectors - 1](&tile);
  expect_equal();
}

static void tiles_equal_plain_loops(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    for (int vectors = 1; vectors <= CVY_MICROKERNEL_VECTORS; vectors++) {
      for (int64_t block = 1; block <= CHANNELS; block++) {
        check_tile(&sets[s]->microkernel, vectors, block, false);
        check_tile(&sets[s]->microkernel, vectors, block, true);
        check_tile(&sets[s]->narrow_microkernel, vectors, block, false);
        check_tile(&sets[s]->narrow_microkernel, vectors, block, true);
      }
    }
  }
}

/* Rows come from a y of the tile's own, columns from x. What is beyond `rows` and `columns` must
 * stay as it was. */
static void check_inner_products(const cvy_inner_products_kernel *inner, int64_t rows,
                                 int64_t columns, int64_t length, bool add) {
  const int64_t column[8] = {0, 3, 7, 12, 19, 200, 301, 404};
  int64_t pitch = 160, sum_pitch = 11;
  float rows_of_y[4 * 160] = {0};
  test_random random = {7};
  fill();
  for (int64_t r = 0; r < inner->rows; r++)
    test_fill_integers(&random, rows_of_y + r * pitch, length);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t j = 0; j < columns; j++) {
      float *to = &expected[r * sum_pitch + j];
      if (!add) *to = 0;
      for (int64_t i = 0; i < length; i++) *to += rows_of_y[r * pitch + i] * x[column[j] + i];
    }
  }
  inner->run(&(cvy_inner_products_tile){x, rows_of_y, column, y, pitch, sum_pitch, length,
                                        .rows = rows, .columns = columns, .add = add});
  expect_equal();
}

static void inner_products_equal_plain_loops(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    const cvy_inner_products_kernel *inner = &sets[s]->inner_products;
    for (int64_t rows = 1; rows <= inner->rows; rows++) {
      for (int64_t columns = 1; columns <= inner->columns; columns++) {
        for (int64_t length = 1; length < 60; length += 7) {
          check_inner_products(inner, rows, columns, length, false);
          check_inner_products(inner, rows, columns, length, true);
        }
      }
    }
  }
}

/* ------------------------------------------------------------------------------------ maxima */

/* What is larger, of equal ones the first, of NaN the last; denormal numbers are no zeros. */
static void maxima_equal_plain_comparisons(void **state) {
  static const float values[] = {0.0f,   -0.0f, 1.0f,  -1.0f, 1e-40f,    -1e-40f,
                                 2e-40f, 3.0f,  -3.0f, NAN,   -INFINITY, INFINITY};
  enum { VALUES = sizeof values / sizeof *values, LENGTH = 77, STEPS = 3, ROUNDS = 5 };
  (void)state;
  for (int set = 0; set < set_count; set++) {
    for (int step = 1; step <= STEPS; step++) {
      float from[STEPS * LENGTH], got[LENGTH], wanted[LENGTH];
      int32_t keys[LENGTH], taps[LENGTH], places[LENGTH];
      for (int i = 0; i < LENGTH; i++) {
        got[i] = wanted[i] = -INFINITY;
        keys[i] = INT32_MIN;
        places[i] = -1;
        taps[i] = 0;
      }
      for (int tap = 0; tap < ROUNDS; tap++) {
        for (int i = 0; i < STEPS * LENGTH; i++)
          from[i] = values[(i * 7 + tap * (i % 5 + 3)) % VALUES];
        sets[set]->maxima(got, from, step, LENGTH);
        sets[set]->maxima_taps(keys, taps, tap, from, step, LENGTH);
        for (int i = 0; i < LENGTH; i++) {
          float value = from[i * step];
          if (places[i] >= 0 && !(value > wanted[i]) && !isnan(value)) continue;
          if (value > wanted[i] || isnan(value)) wanted[i] = value;
          places[i] = tap;
        }
      }
      for (int i = 0; i < LENGTH; i++) {
        assert_true(isnan(wanted[i]) ? isnan(got[i]) : memcmp(&got[i], &wanted[i], 4) == 0);
        assert_int_equal(taps[i], places[i]);
      }
    }
  }
}

int main(void) {
  find_sets();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stencils_equal_plain_loops),
      cmocka_unit_test(interleaving_equals_plain_loops),
      cmocka_unit_test(tiles_equal_plain_loops),
      cmocka_unit_test(inner_products_equal_plain_loops),
      cmocka_unit_test(maxima_equal_plain_comparisons),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
