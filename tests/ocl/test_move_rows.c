/* The rows of moves and resampling in the OpenCL engine against the definition, twice, over NaN,
 * with every form of their kernels. All are small enough for a simulator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "engine.h"
#include "problem/operation.h"

static test_engine engine;

/* What a row is given, by the end of its name. */
static const struct {
  const char *row, *text;
} cases[] = {
    {"copy", "copy x64 by1 y64"},
    {"copy", "copy x67 from3 by1 y61"},
    {"copy", "copy x60 from59 by-20,-5,-1 y3,4,5"},
    {"copy", "copy x512 by1,16 y16,32"},
    {"copy", "copy x561 by1,17 y17,33"},
    {"copy", "copy x60 by20,5,1 y3,9,8 take3,4,5 at0,1,2 step1,2,1 fill-1.5"},
    {"copy", "copy x64 by8,1 y10,8 take8,8 at1,0 fill7"},
    {"copy", "copy x64:uint8 by1 y64"},
    {"copy", "copy x67:int32 from3 by1 y61"},
    {"copy", "copy x561:uint8 by1,17 y17,33"},
    {"copy", "copy x0 by0 y70 take0 fill1"},
    {"concatenate", "concatenate n3 w7,1,20:uint8,5:int32"},
    {"concatenate", "concatenate n3 w8,4,20:uint8,12:int32"},
    {"concatenate", "concatenate n2 w0,5,0"},
    {"resample", "resample_nearest n1c2h3w4 h6w8"},
    {"resample", "resample_nearest n1c2h3w5 h7w12 exact"},
    {"resample", "resample_nearest n1c2w9 w7 step1.5"},
    {"resample", "resample_nearest_backward n1c2h3w4 h6w8"},
    {"resample", "resample_nearest_backward n1c2h3w5 h7w11 exact"},
    {"resample", "resample_linear n1c2h3w5 h7w12"},
    {"resample", "resample_linear n1c1z2h3w5 z3h2w7 aligned"},
    {"resample", "resample_linear_backward n1c2h3w5 h7w12"},
    {"resample", "resample_linear_backward n1c1z2h3w5 z3h2w7 aligned"},
    {"copy", "copy x256 by1,2,4,8,16,32,64,128 y2,2,2,2,2,2,2,2"},
};
enum { CASES = sizeof cases / sizeof *cases };

static float *some_values(const cvy_problem *problem, int32_t input) {
  static uint32_t seed = 1;
  cvy_array array = cvy_problem_input(problem, input);
  int64_t count = cvy_array_count(&array);
  uint8_t *values = malloc((size_t)(4 * count + 4));
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    float real = (float)(seed >> 8) / 1024.0f;
    int32_t number = (int32_t)seed;
    if (array.dtype == CONVOY_UINT8)
      values[i] = (uint8_t)(seed >> 24);
    else
      memcpy(values + 4 * i, array.dtype == CONVOY_INT32 ? (void *)&number : &real, 4);
  }
  return (float *)(void *)values;
}

static void run_case(const char *text, int32_t row) {
  cvy_problem problem;
  cvy_params params = {{0}};
  if (!cvy_problem_read(text, &problem)) fail_msg("%s", text);
  assert_true(test_engine_takes(&engine, engine.backend->algorithms[row], &problem));
  int64_t count = cvy_problem_output_bytes(&problem, 0) / 4;
  cvy_values from = {{NULL}};
  float *in[CVY_MAX_INPUTS] = {NULL}, *out = malloc((size_t)count * sizeof *out);
  for (int32_t i = 0; i < cvy_problem_inputs(&problem); i++)
    from.in[i] = in[i] = some_values(&problem, i);
  for (int times = 0; times < 2; times++) {
    for (int64_t j = 0; j < count; j++) out[j] = NAN;
    if (test_engine_run_all(&engine, &problem, row, &params, from.in, out))
      fail_msg("%s: %s", text, engine.module->last_error());
    for (int64_t j = 0; j < count; j++) {
      cvy_element wanted = cvy_problem_element(&problem, &from, 0, j);
      double bound = cvy_problem_bound(&problem, wanted.magnitude);
      if (!(fabs((double)out[j] - wanted.value) <= bound))
        fail_msg("%s: [%d] is %g, not %g", text, (int)j, (double)out[j], wanted.value);
    }
  }
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++) free(in[i]);
  free(out);
}

static void rows_compute_what_the_definition_says(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i++) {
    char name[32];
    int32_t row = 0;
    snprintf(name, sizeof name, "ocl.%s", cases[i].row);
    while (strcmp(engine.backend->algorithms[row]->name, name) != 0) row++;
    run_case(cases[i].text, row);
  }
}

int main(void) {
  int ready = test_engine_open(&engine, INT64_C(64) << 20);
  if (ready) return ready;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_compute_what_the_definition_says),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  return failed;
}
