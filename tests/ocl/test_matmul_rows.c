/* The rows of matrix products in the OpenCL engine: whole numbers, added to what is there or not,
 * by the parameters of processors and GPUs and by odd ones, with the definition's bits, twice. With
 * the argument `tiny` there are small ones only, and none by CLBlast, whose kernels are its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "engine.h"
#include "problem/matmul/matmul.h"

static test_engine engine;
static bool tiny;

static const char *const texts[] = {
    "matmul a5x7 b7x3",
    "matmul a7x5t b7x3",
    "matmul a5x7 b3x7t",
    "matmul a7x5t b3x7t",
    "matmul a1x33 b33x21",
    "matmul a1x33 b21x33t",
    "matmul a19x1 b1x21",
    "matmul a21x33 b33x1",
    "matmul a3x9x7 b3x7x5",
    "matmul a9x7 b3x7x5",
    "matmul a3x7x9t b7x5",
    "matmul a3x9x7 b3x7x5 sum",
    "matmul a3x9x7 b3x5x7t sum",
    "matmul a3x0x7 b3x7x5 sum",
    "matmul a5x0 b0x3",
    /* Above the tiny ones. */
    "matmul a8x700 b700x9",
    "matmul a5x300x8t b5x300x9",
    "matmul a70x65 b65x130",
    "matmul a65x70t b65x130",
    "matmul a70x65 b130x65t",
    "matmul a65x70t b130x65t",
    "matmul a2x70x65 b2x65x70 sum",
    "matmul a300x17 b17x6",
};
enum { TEXTS = sizeof texts / sizeof *texts, TINY = 15 };

static const cvy_params odd[] = {{{4, 16, 8, 4, 4, 1}},
                                 {{4, 16, 8, 4, 4, 2}},
                                 {{16, 32, 8, 8, 4, 16}},
                                 {{32, 16, 32, 4, 8, 4}},
                                 {{16, 16, 8, 8, 8, 64}}};

static float *whole_numbers(int64_t bytes) {
  static uint32_t seed = 1;
  int64_t count = bytes / (int64_t)sizeof(float);
  float *values = malloc((size_t)(count + 1) * sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)((int32_t)(seed >> 24) % 7 - 3);
  }
  return values;
}

static void compare(const char *text, const char *row, const cvy_problem *problem,
                    const cvy_values *from, const float *got, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double wanted = cvy_problem_element(problem, from, 0, i).value;
    if ((double)got[i] != wanted)
      fail_msg("%s: %s: [%d] is %g, not %g", row, text, (int)i, (double)got[i], wanted);
  }
}

static void run_case(const char *text, const cvy_problem *problem, int32_t row,
                     const cvy_params *params) {
  const char *name = engine.backend->algorithms[row]->name;
  int64_t bytes = cvy_problem_output_bytes(problem, 0), count = bytes / 4;
  float *a = whole_numbers(cvy_problem_input_bytes(problem, 0));
  float *b = whole_numbers(cvy_problem_input_bytes(problem, 1));
  float *before = whole_numbers(bytes), *out = whole_numbers(bytes);
  cvy_values from = {{a, b, before}};
  for (int i = 0; i < 2; i++) {
    for (int64_t j = 0; j < count; j++) out[j] = problem->accumulate ? before[j] : NAN;
    if (test_engine_run(&engine, problem, row, params, a, b, NULL, out))
      fail_msg("%s: %s: %s", name, text, engine.module->last_error());
    compare(text, name, problem, &from, out, count);
  }
  float *all[] = {a, b, before, out};
  for (size_t i = 0; i < CVY_COUNT(all); i++) free(all[i]);
}

static int every_parameter(const char *text, const cvy_problem *problem, int32_t row) {
  const cvy_algorithm *algorithm = engine.backend->algorithms[row];
  cvy_facts facts = *engine.backend->facts(engine.device);
  cvy_params params = {{0}};
  if (!test_engine_takes(&engine, algorithm, problem)) return 0;
  if (algorithm->defaults) algorithm->defaults(problem, &facts, &params);
  run_case(text, problem, row, &params);
  if (!algorithm->defaults) return 1;
  facts.info.type = CONVOY_DEVICE_GPU;
  facts.info.compute_units = 1;
  algorithm->defaults(problem, &facts, &params);
  run_case(text, problem, row, &params);
  for (size_t i = 0; i < CVY_COUNT(odd); i++) {
    assert_true(algorithm->valid(&odd[i], problem, &facts));
    run_case(text, problem, row, &odd[i]);
  }
  return 1;
}

static void rows_compute_what_the_definition_says(void **state) {
  (void)state;
  for (int32_t row = 0; engine.backend->algorithms[row]; row++) {
    const cvy_algorithm *algorithm = engine.backend->algorithms[row];
    int ran = 0;
    if (!(algorithm->operations & CVY_OPERATION_BIT(CVY_MATMUL))) continue;
    if (tiny && strstr(algorithm->name, "clblast")) continue;
    for (int t = 0; t < (tiny ? TINY : TEXTS); t++) {
      for (int adds = 0; adds < 2; adds++) {
        cvy_problem problem;
        assert_true(cvy_problem_read(texts[t], &problem));
        if (cvy_problem_empty(&problem)) continue;
        problem.accumulate = adds;
        ran += every_parameter(texts[t], &problem, row);
      }
    }
    printf("%s: %d cases\n", algorithm->name, ran);
    assert_true(ran >= 5);
  }
}

/* Devices of little local memory and small work-groups, in which the tiles become smaller. */
static void small_devices_have_small_tiles(void **state) {
  (void)state;
  int32_t row = 0;
  cvy_problem problem;
  cvy_facts facts = *engine.backend->facts(engine.device);
  char reason[192];
  cvy_text text = cvy_text_in(reason, sizeof reason);
  while (strcmp(engine.backend->algorithms[row]->name, "ocl.matmul") != 0) row++;
  const cvy_algorithm *algorithm = engine.backend->algorithms[row];
  assert_true(cvy_problem_read("matmul a512x512 b512x512", &problem));
  for (facts.max_work_group = 4; facts.max_work_group <= 1024; facts.max_work_group *= 2) {
    for (facts.local_memory_bytes = 1024; facts.local_memory_bytes <= 65536;
         facts.local_memory_bytes *= 2) {
      cvy_params params;
      assert_true(algorithm->accepts(&problem, &facts, &text));
      algorithm->defaults(&problem, &facts, &params);
      assert_true(algorithm->valid(&params, &problem, &facts));
    }
  }
  facts.max_work_group = 2;
  assert_false(algorithm->accepts(&problem, &facts, &text));
  assert_non_null(strstr(reason, "has 2 and 131072"));
}

int main(int count, char **arguments) {
  tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
  int ready = test_engine_open(&engine, INT64_C(64) << 20);
  if (ready) return ready;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_compute_what_the_definition_says),
      cmocka_unit_test(small_devices_have_small_tiles),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  return failed;
}
