/* Reductions of programs: their text, what is legal, that the definition is within its bound of
 * float64, and that the CPU engine gives its bits on every instruction set, whatever the threads.
 *
 *   test_program_reduce [PROBLEMS] */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "cpu/program/reduce.h"
#include "cpu/threads/denormals.h"
#include "program/arrays.h"
#include "program/simd_sets.h"

static int problems = 3000;

/* ---------------------------------------------------------------------------------------- text */

static void texts(void **state) {
  (void)state;
  static const struct {
    const char *text, *canonical;
  } cases[] = {
      {"s = sum over n z h w of x", "s = sum over n z h w of x"},
      {"s=sum over w  h n of(x-m)*y;", "s = sum over n h w of (x - m) * y"},
      {"let d = dy*g; s = sum over n h w of d; q = sum over n h w of d * x",
       "let t0 = dy * g; s = sum over n h w of t0; q = sum over n h w of t0 * x"},
      {"m = mean over n of x*x; v = variance over n of x*x",
       "m = mean over n of x * x; v = variance over n of x * x"},
      {"a = maximum over c of x; b = minimum over c of x",
       "a = maximum over c of x; b = minimum over c of x"},
      {"x = sum over n of x; y = mean over n of x", "x = sum over n of x; y = mean over n of x"},
      {"a = sum over n of b; b = mean over n of a*2",
       "let t0 = b; let t1 = 2 * t0; a = sum over n of t0; b = mean over n of t1"},
      /* The words are no names of the language. */
      {"over = sum + mean * of", "over = sum + mean * of"},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program, again;
    cvy_reduction how, how_again;
    cvy_program_names names;
    char text[CVY_PROGRAM_TEXT];
    if (cvy_reduction_parse(cases[i].text, &program, &how, &names))
      fail_msg("'%s': %s", cases[i].text, cvy_last_error());
    assert_int_equal(cvy_reduction_text(&program, &how, &names, text, sizeof text), CONVOY_OK);
    if (i != 5 && i != 6) assert_string_equal(text, cases[i].canonical);
    if (cvy_reduction_parse(text, &again, &how_again, NULL))
      fail_msg("'%s': %s", text, cvy_last_error());
    assert_memory_equal(&program, &again, sizeof program);
    assert_memory_equal(&how, &how_again, sizeof how);
  }
}

static void equal_values_are_one(void **state) {
  (void)state;
  cvy_program program;
  cvy_reduction how;
  assert_int_equal(cvy_reduction_parse("m = mean over h w of x; v = variance over w h of x; "
                                       "s = sum over h w of x; q = sum over h w of x * x",
                                       &program, &how, NULL),
                   CONVOY_OK);
  assert_int_equal(program.results, 2);
  assert_int_equal(how.results, 4);
  assert_int_equal(how.axes, 0x18);
  cvy_reduce_parts parts = cvy_reduce_parts_of(&how);
  assert_int_equal(parts.count, 3); /* mean and variance share one */
  assert_int_equal(parts.components, 5);
  assert_int_equal(cvy_reduction_parse("y = x + 1", &program, &how, NULL), CONVOY_OK);
  assert_int_equal(how.axes, 0);
}

static void refusals_name_the_column(void **state) {
  (void)state;
  static const struct {
    const char *text, *sentence;
  } cases[] = {
      {"s = sum over of x", "column 14: expected one of the axes n c z h w, not \"of\""},
      {"s = sum over n q of x",
       "column 16: expected one of the axes n c z h w or \"of\", not \"q\""},
      {"s = sum over n h n of x", "column 18: the axis n is named twice"},
      {"s = sum over n nh of x",
       "column 16: expected one of the axes n c z h w or \"of\", not \"nh\""},
      {"s = sum over n",
       "column 15: expected one of the axes n c z h w or \"of\", but the text ends"},
      {"s = sum over n of", "column 18: expected a value, but the text ends"},
      {"s = sum over n of x; y = x",
       "column 26: all results are reduced over the same axes, or none "
       "is, but \"s\""},
      {"y = x; s = sum over n of x", "column 12: all results are reduced over the same axes"},
      {"s = sum over n of x; y = sum over c of x", "column 26: all results are reduced over"},
      {"let s = sum over n of x; y = s", "column 9: a reduction is a result and cannot be"},
      {"s = 2 * sum over n of x", "column 13: expected an operator or ';', not \"over\""},
      {"s = total over n of x", "column 11: expected an operator or ';', not \"over\""},
      {"s = sum over n of sum over n of x", "column 23: expected an operator or ';', not \"over\""},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program;
    cvy_reduction how;
    assert_int_equal(cvy_reduction_parse(cases[i].text, &program, &how, NULL), CONVOY_ERR_ARGUMENT);
    if (!strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("'%s': '%s', not '%s'", cases[i].text, cvy_last_error(), cases[i].sentence);
  }
  cvy_program program;
  assert_int_equal(cvy_program_parse("s = sum over n of x", &program, NULL), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "column 5: an elementwise program has no reductions"));
}

/* ------------------------------------------------------------------------------------ problems */

static cvy_reduce_problem statistics(int64_t n, int64_t c, int64_t h, int64_t w) {
  static const cvy_program_class classes[] = {CVY_CLASS_FULL};
  const int64_t extent[] = {n, c, 1, h, w};
  cvy_program program;
  cvy_reduction how;
  cvy_reduce_problem problem;
  if (cvy_reduction_parse("m = mean over n z h w of x; v = variance over n z h w of x", &program,
                          &how, NULL))
    fail_msg("%s", cvy_last_error());
  cvy_reduce_problem_init(&program, &how, extent, classes, &problem);
  return problem;
}

static void problems_are_flat(void **state) {
  (void)state;
  assert_int_equal(sizeof(cvy_reduction), 2 + 2 * CVY_PROGRAM_RESULTS);
  assert_int_equal(sizeof(cvy_reduce_problem), sizeof(cvy_program_problem) + 24 + 8);
}

static void the_order_follows_from_the_extents(void **state) {
  (void)state;
  static const struct {
    int64_t extent[CVY_PROGRAM_AXES];
    uint32_t axes;
    int64_t piece;
    int32_t lanes, pieces;
  } cases[] = {
      {{16, 64, 1, 80, 80}, 0x1d, 2048, 256, 50}, /* batch norm */
      {{16, 16, 1, 320, 320}, 0x1d, 8192, 256, 200},
      {{16, 512, 1, 7, 7}, 0x18, 512, 64, 1}, /* a mean over each map */
      {{16, 80, 1, 80, 80}, 0x02, 8, 1, 10},  /* over channels */
      {{64, 1000, 1, 1, 1}, 0x01, 8, 1, 8},   /* a bias' gradient */
      {{1, 1, 1, 1, 1}, 0x1f, 8, 1, 1},
      {{1, 3, 1, 1, 1 << 30}, 0x10, 4194304, 256, 256},
      {{0, 3, 1, 4, 4}, 0x1d, 8, 1, 1},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    static const cvy_program_class classes[] = {CVY_CLASS_FULL};
    cvy_program program;
    cvy_reduction how;
    cvy_reduce_problem problem;
    assert_int_equal(cvy_reduction_parse("s = sum over n of x", &program, &how, NULL), CONVOY_OK);
    how.axes = (uint8_t)cases[i].axes;
    cvy_reduce_problem_init(&program, &how, cases[i].extent, classes, &problem);
    assert_int_equal(cvy_reduce_problem_check(&problem), CONVOY_OK);
    cvy_reduce_order order = cvy_reduce_order_of(&problem);
    if (problem.piece != cases[i].piece || order.lanes != cases[i].lanes ||
        order.pieces != cases[i].pieces) {
      fail_msg("case %zu: pieces of %lld, %d lanes, %d pieces", i, (long long)problem.piece,
               (int)order.lanes, (int)order.pieces);
    }
  }
}

static void work(void **state) {
  (void)state;
  cvy_reduce_problem problem = statistics(16, 64, 80, 80);
  assert_int_equal(cvy_reduce_problem_check(&problem), CONVOY_OK);
  assert_true(cvy_reduce_problem_flops(&problem) == 8.0 * 16 * 64 * 6400);
}

static void bytes_from_elsewhere_are_checked(void **state) {
  (void)state;
  static const struct {
    size_t at;
    uint8_t byte;
    const char *sentence;
  } cases[] = {
      {offsetof(cvy_reduce_problem, how), 0, "the bits of the axes are 0"},
      {offsetof(cvy_reduce_problem, how), 32, "the bits of the axes are 32"},
      {offsetof(cvy_reduce_problem, how) + 1, 9, "9 results"},
      {offsetof(cvy_reduce_problem, how) + 1, 0, "0 results"},
      {offsetof(cvy_reduce_problem, how) + 2, 5, "result 0 is of kind 5"},
      {offsetof(cvy_reduce_problem, how) + 3, 1, "result 0 is of kind 1 and value 1"},
      {offsetof(cvy_reduce_problem, how) + 6, 1, "result 2 is of kind 1"},
      {offsetof(cvy_reduce_problem, reserved), 1, "what is not used is not 0"},
      {offsetof(cvy_reduce_problem, piece), 1, "pieces of 2049 elements, not a multiple of 2048"},
      {offsetof(cvy_reduce_problem, piece) + 3, 2, "pieces of 33556480 elements"},
      {offsetof(cvy_reduce_problem, of.result) + 8, 4, "result 0 has stride 4 along n"},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_reduce_problem problem = statistics(16, 64, 80, 80);
    ((uint8_t *)&problem)[cases[i].at] = cases[i].byte;
    assert_int_equal(cvy_reduce_problem_check(&problem), CONVOY_ERR_ARGUMENT);
    if (!strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("case %zu: '%s', not '%s'", i, cvy_last_error(), cases[i].sentence);
  }
}

/* ------------------------------------------------------------------------------ the definition */

static void within_the_bound(const test_arrays *all, int64_t *compared) {
  const cvy_reduce_problem *problem = &all->reduction;
  const void *inputs[CVY_PROGRAM_INPUTS];
  cvy_program_problem kept = problem->of;
  test_arrays_inputs(all, inputs);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (problem->how.axes >> axis & 1) kept.extent[axis] = 1;
  for (int64_t i = 0; i < cvy_program_count(kept.extent); i++) {
    float results[CVY_PROGRAM_RESULTS];
    cvy_reduced exact[CVY_PROGRAM_RESULTS];
    if (!cvy_reduce_element(problem, inputs, i, results)) continue;
    cvy_reduce_element64(problem, inputs, i, exact);
    for (int k = 0; k < problem->how.results; k++) {
      double bound = cvy_reduce_bound(problem, exact[k].magnitude);
      if (!(bound < 1e30)) continue; /* sums that may have overflowed */
      ++*compared;
      if (!(fabs((double)results[k] - exact[k].value) <= bound)) {
        fail_msg("kind %d: %a, exactly %a, bound %a", problem->how.result[k].kind,
                 (double)results[k], exact[k].value, bound);
      }
    }
  }
}

static void random_definitions(void **state) {
  (void)state;
  static test_arrays all;
  test_random random = {21};
  int64_t compared = 0;
  for (int i = 0; i < 600; i++) {
    cvy_program program;
    test_random_program(&random, TEST_SMOOTH, (int)test_between(&random, 1, 10), &program);
    test_arrays_reduction(&random, &program, i & 1, &all);
    test_arrays_memory(&random, i & 1, true, &all);
    within_the_bound(&all, &compared);
  }
  print_message("%lld results compared with float64\n", (long long)compared);
  assert_true(compared > 20000);
}

/* ------------------------------------------------------------------------------ the CPU engine */

static void *run_on(const cvy_program_simd *set, cvy_threads *threads, cvy_reduce_call call) {
  size_t bytes = (size_t)cvy_reduce_arrays_workspace(call.problem, cvy_threads_count(threads));
  void *memory = malloc(bytes + 64 + 64);
  assert_non_null(memory);
  memset(memory, 0xff, bytes + 128); /* NaN, and a guard */
  call.threads = threads;
  call.simd = set;
  call.workspace = (void *)(((uintptr_t)memory + 63) / 64 * 64);
  uint64_t mode = cvy_denormals_flush();
  cvy_reduce_arrays(&call);
  cvy_denormals_restore(mode);
  for (size_t i = 0; i < 64; i++) assert_int_equal(((uint8_t *)call.workspace)[bytes + i], 0xff);
  return memory;
}

static void check_problem(cvy_threads *threads, test_arrays *all) {
  cvy_reduce_call call = {.problem = &all->reduction};
  test_arrays_inputs(all, call.in);
  for (int s = 0; s < test_set_count; s++) {
    for (int k = 0; k < all->results; k++) {
      for (int64_t i = 0; i < all->result[k].count; i++) all->result[k].memory.real[i] = 12345.678f;
      call.out[k] = all->result[k].memory.real + all->result[k].offset;
    }
    free(run_on(test_sets[s], threads, call));
    for (int k = 0; k < all->results; k++) {
      if (test_arrays_wrong(all, k, all->result[k].memory.real, test_sets[s]->name))
        fail_msg("%s", test_sets[s]->name);
    }
  }
}

static void random_problems(void **state) {
  (void)state;
  static test_arrays all;
  test_random random = {22};
  cvy_threads *threads;
  int64_t plain = 0, elements = 0;
  assert_int_equal(cvy_threads_open(3, &threads), CONVOY_OK);
  for (int i = 0; i < problems; i++) {
    cvy_program program;
    test_random_program(&random, i % 3 ? TEST_TAME : TEST_ANY, (int)test_between(&random, 1, 20),
                        &program);
    test_arrays_reduction(&random, &program, i & 1, &all);
    assert_int_equal(cvy_reduce_problem_check(&all.reduction), CONVOY_OK);
    test_arrays_memory(&random, i & 1, i % 3, &all);
    test_arrays_expect(&all);
    check_problem(i & 2 ? threads : NULL, &all);
    plain += all.plain;
    elements += all.elements;
  }
  cvy_threads_close(threads);
  print_message("%d problems, %lld results, %lld without denormal numbers\n", problems,
                (long long)elements, (long long)plain);
  assert_true(plain > elements * 3 / 4);
}

static float *normal_numbers(int64_t count, float mean, float deviation) {
  test_random random = {23};
  float *x = malloc((size_t)count * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < count; i++) {
    double sum = 0; /* of 12 uniform numbers: variance 1 */
    for (int k = 0; k < 12; k++) sum += (double)(test_next(&random) >> 40) * 0x1p-24;
    x[i] = mean + deviation * (float)(sum - 6);
  }
  return x;
}

/* The variance keeps five digits where the mean is a thousand deviations, and a difference of sums
 * would keep none or one. */
static void a_variance_far_from_zero(void **state) {
  (void)state;
  static const float means[] = {0.0f, 1000.0f, -1000.0f, 30000.0f};
  cvy_reduce_problem problem = statistics(16, 2, 100, 100);
  for (size_t m = 0; m < CVY_COUNT(means); m++) {
    float *x = normal_numbers(320000, means[m], 1.0f), first[2][2] = {{0}};
    const void *inputs[] = {x};
    for (int s = 0; s < test_set_count; s++) {
      for (int32_t count = 1; count <= 4; count++) {
        float mean[2], variance[2];
        cvy_threads *threads;
        assert_int_equal(cvy_threads_open(count, &threads), CONVOY_OK);
        free(run_on(test_sets[s], threads,
                    (cvy_reduce_call){.problem = &problem, .in = {x}, .out = {mean, variance}}));
        cvy_threads_close(threads);
        if (s == 0 && count == 1) {
          memcpy(first[0], mean, sizeof mean);
          memcpy(first[1], variance, sizeof variance);
        }
        assert_memory_equal(first[0], mean, sizeof mean);
        assert_memory_equal(first[1], variance, sizeof variance);
      }
    }
    for (int c = 0; c < 2; c++) {
      cvy_reduced exact[CVY_PROGRAM_RESULTS];
      float results[CVY_PROGRAM_RESULTS];
      cvy_reduce_element64(&problem, inputs, c, exact);
      assert_true(cvy_reduce_element(&problem, inputs, c, results));
      assert_memory_equal(&results[0], &first[0][c], 4);
      assert_memory_equal(&results[1], &first[1][c], 4);
      double off = fabs((double)results[1] / exact[1].value - 1);
      print_message("mean %.9g, off by %.1e; variance %.9g, relatively by %.1e\n",
                    (double)results[0], (double)results[0] - exact[0].value, (double)results[1],
                    off);
      assert_true(off < (fabsf(means[m]) > 1000 ? 1e-4 : 5e-6));
      assert_true(fabs((double)results[0] - exact[0].value) <= 4e-7 * (1 + fabs(exact[0].value)));
    }
    free(x);
  }
}

static void of_nothing(void **state) {
  (void)state;
  static const cvy_program_class classes[] = {CVY_CLASS_FULL};
  static const int64_t extent[] = {0, 3, 1, 4, 4};
  cvy_program program;
  cvy_reduction how;
  cvy_reduce_problem problem;
  float results[4][3];
  assert_int_equal(
      cvy_reduction_parse("s = sum over n h w of x; m = mean over n h w of x; a = maximum "
                          "over n h w of x; v = variance over n h w of x",
                          &program, &how, NULL),
      CONVOY_OK);
  cvy_reduce_problem_init(&program, &how, extent, classes, &problem);
  assert_int_equal(cvy_reduce_problem_check(&problem), CONVOY_OK);
  free(run_on(&cvy_program_simd_baseline, NULL,
              (cvy_reduce_call){.problem = &problem,
                                .out = {results[0], results[1], results[2], results[3]}}));
  for (int c = 0; c < 3; c++) {
    float expected[CVY_PROGRAM_RESULTS];
    cvy_reduce_element(&problem, NULL, c, expected);
    for (int k = 0; k < 4; k++) assert_true(test_same_bits(results[k][c], expected[k]));
    assert_true(results[0][c] == 0 && isnan(results[1][c]) && results[2][c] == -INFINITY);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts),
      cmocka_unit_test(equal_values_are_one),
      cmocka_unit_test(refusals_name_the_column),
      cmocka_unit_test(problems_are_flat),
      cmocka_unit_test(the_order_follows_from_the_extents),
      cmocka_unit_test(work),
      cmocka_unit_test(bytes_from_elsewhere_are_checked),
      cmocka_unit_test(random_definitions),
      cmocka_unit_test(of_nothing),
      cmocka_unit_test(a_variance_far_from_zero),
      cmocka_unit_test(random_problems),
  };
  if (argc == 2) problems = atoi(argv[1]);
  test_find_sets();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
