/* The inner loops of every instruction set this processor has are compared with plain loops on
 * integers, where results must be equal. Lengths go through all remainders of all register
 * widths. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "cpu/simd_sets.h"

#define LENGTH 150

static void check_correlate(const cvy_simd *simd, int64_t length, int64_t step) {
  fill();
  for (int64_t i = 0; i < length; i++)
    for (int64_t t = 0; t < 5; t++) expected[i] += w[t] * x[500 + i + t * step];
  simd->correlate(y, x + 500, w, 5, step, length);
  expect_equal();
}

static void check_axpy(const cvy_simd *simd, int64_t length, int64_t ys, int64_t xs) {
  fill();
  for (int64_t i = 0; i < length; i++) expected[i * ys] += w[0] * x[i * xs];
  simd->axpy(y, ys, x, xs, w[0], length);
  expect_equal();
}

static void check_gather(const cvy_simd *simd, int64_t length, int64_t stride) {
  fill();
  for (int64_t i = 0; i < length; i++) expected[i] = x[i * stride];
  simd->gather(y, x, stride, length);
  expect_equal();
}

static void check_scatter(const cvy_simd *simd, int64_t length, int64_t stride) {
  fill();
  for (int64_t i = 0; i < length; i++) expected[i * stride] = x[i];
  simd->scatter(y, stride, x, length);
  expect_equal();
}

static void check_transpose(const cvy_simd *simd, int64_t rows, int64_t columns) {
  int64_t from_pitch = 53, to_pitch = 41;
  fill();
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) expected[j * to_pitch + i] = x[i * from_pitch + j];
  simd->transpose(y, to_pitch, x, from_pitch, rows, columns);
  expect_equal();
}

/* Packs runs of all lengths one after another. Loose ones may write past the last of them only. */
static void check_pack(const cvy_simd *simd, bool loose) {
  cvy_copy_run runs[40];
  int64_t to = 0;
  fill();
  for (int64_t r = 0; r < 40; r++) {
    runs[r] = (cvy_copy_run){3 * r, to, r + 1};
    for (int64_t i = 0; i <= r; i++) expected[to++] = x[3 * r + i];
  }
  simd->pack(y, x, runs, 40, loose);
  if (loose) memcpy(expected + to, y + to, (size_t)simd->microkernel.width * sizeof *y);
  expect_equal();
}

static void check_dot(const cvy_simd *simd, int64_t length, int64_t stride) {
  fill();
  cvy_plane_pair planes = {x, y, length + 3, 211, stride, 3, length};
  double sum = 0;
  for (int64_t r = 0; r < 3; r++) {
    for (int64_t i = 0; i < length; i++)
      sum += (double)x[r * (length + 3) + i] * (double)y[r * 211 + i * stride];
  }
  assert_true(simd->dot(&planes) == sum);
}

static void check_sum(const cvy_simd *simd, int64_t length) {
  double sum = 0;
  fill();
  for (int64_t i = 0; i < length; i++) sum += (double)x[i];
  assert_true(simd->sum(x, length) == sum);
}

static void check_length(const cvy_simd *simd, int64_t length) {
  for (int64_t stride = 1; stride <= 3; stride++) {
    check_correlate(simd, length, stride);
    check_correlate(simd, length, -stride);
    check_axpy(simd, length, stride, 1);
    check_axpy(simd, length, 1, stride);
    check_axpy(simd, length, stride, 2);
    check_gather(simd, length, stride);
    check_scatter(simd, length, stride);
    check_dot(simd, length, stride);
  }
  check_sum(simd, length);
}

static void check_halves(const cvy_simd *simd, int64_t length) {
  int64_t odd = 301;
  cvy_copy_rows rows = {y, x, ROW, 2 * ROW, 3, length};
  fill();
  for (int64_t i = 0; i < 3 * length; i++) {
    expected[i / length * ROW + i % length % 2 * odd + i % length / 2] =
        x[i / length * 2 * ROW + i % length];
  }
  simd->split_rows(&rows, odd);
  expect_equal();
  rows = (cvy_copy_rows){y, x, 2 * ROW, ROW, 3, length};
  fill();
  for (int64_t i = 0; i < 3 * length; i++) {
    expected[i / length * 2 * ROW + i % length] =
        x[i / length * ROW + i % length % 2 * odd + i % length / 2];
  }
  simd->join_rows(&rows, odd);
  expect_equal();
}

/* Behind short rows there may be what was there, or 0. */
static void check_pad(const cvy_simd *simd, int64_t length) {
  cvy_copy_rows rows = {y, x, ROW, length, 3, length};
  fill();
  for (int64_t i = 0; i < 3 * length; i++) expected[i / length * ROW + i % length] = x[i];
  simd->pad_rows(&rows);
  for (int64_t o = 0; o < 3; o++) {
    for (int64_t i = length; i < simd->microkernel.width; i++)
      if (y[o * ROW + i] == 0) expected[o * ROW + i] = 0;
  }
  expect_equal();
}

static void check_arithmetic(const cvy_simd *simd, int64_t length) {
  cvy_copy_rows rows = {y, x, ROW, 2 * ROW, 3, length};
  const float *by = x + 2 * 3 * ROW;
  fill();
  for (int64_t i = 0; i < 3 * length; i++)
    expected[i / length * ROW + i % length] += x[i / length * 2 * ROW + i % length];
  simd->add_rows(&rows);
  expect_equal();
  fill();
  for (int64_t i = 0; i < 3 * length; i++)
    expected[i / length * ROW + i % length] = x[i / length * 2 * ROW + i % length] / by[i % length];
  simd->divide_rows(&rows, by);
  expect_equal();
}

static void rows_equal_plain_loops(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    for (int64_t length = 1; length < 2 * ROW; length++) {
      check_halves(sets[s], length);
      if (length < ROW) check_pad(sets[s], length);
      if (length < ROW) check_arithmetic(sets[s], length);
    }
  }
}

static void loops_equal_plain_ones(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++)
    for (int64_t length = 0; length < LENGTH; length++) check_length(sets[s], length);
}

static void copies_equal_plain_ones(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    for (int64_t rows = 0; rows < 41; rows++)
      for (int64_t columns = 0; columns < 45; columns += 3) check_transpose(sets[s], rows, columns);
    check_pack(sets[s], false);
    check_pack(sets[s], true);
  }
}

static void epilogues_do_what_the_header_says(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    float plain[] = {-2, 3, NAN}, relu[] = {-2, 3, NAN, -INFINITY}, leaky[] = {-2, 3, NAN};
    sets[s]->epilogue(plain, 0.5f, 1.0f, 3);
    assert_true(plain[0] == -1.5f && plain[1] == 3.5f && isnan(plain[2]));
    sets[s]->epilogue(relu, 0.5f, 0.0f, 4);
    assert_true(relu[0] == 0.0f && relu[1] == 3.5f && isnan(relu[2]) && relu[3] == 0.0f);
    sets[s]->epilogue(leaky, 1.0f, 0.25f, 3);
    assert_true(leaky[0] == -0.25f && leaky[1] == 4.0f && isnan(leaky[2]));
  }
}

static void the_peak_loop_counts_its_operations(void **state) {
  (void)state;
  for (int s = 0; s < set_count; s++) {
    float sink = 0;
    double once = sets[s]->fma_peak_loop(10, &sink);
    assert_true(once > 0 && sets[s]->fma_peak_loop(20, &sink) == 2 * once);
  }
}

int main(void) {
  find_sets();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_equal_plain_ones),
      cmocka_unit_test(copies_equal_plain_ones),
      cmocka_unit_test(rows_equal_plain_loops),
      cmocka_unit_test(epilogues_do_what_the_header_says),
      cmocka_unit_test(the_peak_loop_counts_its_operations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
