/* ocl.pool in the OpenCL engine against the definition: maxima to the bit, sums of whole numbers
 * within the bound, the same bits twice, over NaN. With the argument `tiny` there are small ones
 * only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "engine.h"
#include "problem/pooling/pooling.h"

static test_engine engine;
static bool tiny;

static const char *const windows[] = {
    "n1c2h4w5 r2s2 stride2",
    "n1c2h5w5 r2s2 stride2 ceil",
    "n2c1h5w6 r3s3 pad1",
    "n1c1h5w6 r3s2 stride1,2 pad1:0,1 ceil count_padding",
    "n1c1w9 s3 pad2 dil2",
    "n1c1z3h4w3 t2r2s2 stride2 pad1",
    /* Above the tiny ones. */
    "n2c16h30w31 r3s3 stride2 pad1",
    "n2c16h20w20 r5s5 pad2",
    "n1c3h40w41 r7s7 stride7",
    "n1c3w1000 s5 stride3 pad4 dil3",
    "n1c2h19w23 r4s6 stride3,4 pad2 dil1,2",
    "n2c2h17w21 r3s4 stride3,2 pad1 dil2,3",
    "n1c2h20w40 r5s8 stride4,6 pad1,3 ceil",
};
enum { WINDOWS = sizeof windows / sizeof *windows, TINY = 6 };

static const char *const names[] = {"max_pool", "max_pool_backward", "average_pool",
                                    "average_pool_backward"};

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

static void compare(const char *text, const cvy_problem *problem, const cvy_values *from,
                    const float *got, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    cvy_element wanted = cvy_problem_element(problem, from, 0, i);
    if (!(fabs((double)got[i] - wanted.value) <= cvy_problem_bound(problem, wanted.magnitude)))
      fail_msg("%s: [%d] is %g, not %g", text, (int)i, (double)got[i], wanted.value);
  }
}

static void run_case(const char *text, int32_t row) {
  cvy_problem problem;
  cvy_params params = {{0}};
  assert_true(cvy_problem_read(text, &problem));
  assert_true(test_engine_takes(&engine, engine.backend->algorithms[row], &problem));
  int64_t count = cvy_problem_output_bytes(&problem, 0) / 4;
  float *in[2] = {NULL, NULL}, *out[2];
  for (int32_t i = 0; i < cvy_problem_inputs(&problem); i++)
    in[i] = whole_numbers(cvy_problem_input_bytes(&problem, i));
  cvy_values from = {{in[0], in[1]}};
  for (int i = 0; i < 2; i++) {
    out[i] = malloc((size_t)count * sizeof(float));
    for (int64_t j = 0; j < count; j++) out[i][j] = NAN;
    if (test_engine_run(&engine, &problem, row, &params, in[0], in[1], NULL, out[i]))
      fail_msg("%s: %s", text, engine.module->last_error());
    compare(text, &problem, &from, out[i], count);
  }
  assert_memory_equal(out[0], out[1], (size_t)count * sizeof(float));
  float *const all[] = {in[0], in[1], out[0], out[1]};
  for (size_t i = 0; i < CVY_COUNT(all); i++) free(all[i]);
}

static void the_row_computes_what_the_definition_says(void **state) {
  int32_t row = 0;
  (void)state;
  while (strcmp(engine.backend->algorithms[row]->name, "ocl.pool") != 0) row++;
  for (int i = 0; i < (tiny ? TINY : WINDOWS); i++) {
    for (size_t way = 0; way < CVY_COUNT(names); way++) {
      char text[128];
      if (names[way][0] == 'a' && strstr(windows[i], "dil")) continue;
      snprintf(text, sizeof text, "%s %s", names[way], windows[i]);
      run_case(text, row);
    }
  }
}

/* Places of maxima are scratch memory, of which there may be too little. */
static void too_little_scratch_is_refused(void **state) {
  int32_t row = 0;
  cvy_problem problem;
  cvy_facts facts = *engine.backend->facts(engine.device);
  char reason[192];
  cvy_text text = cvy_text_in(reason, sizeof reason);
  (void)state;
  while (strcmp(engine.backend->algorithms[row]->name, "ocl.pool") != 0) row++;
  const cvy_algorithm *algorithm = engine.backend->algorithms[row];
  assert_true(cvy_problem_read("max_pool_backward n1c1h4w4 r2s2 stride2", &problem));
  facts.workspace_limit = 16;
  assert_true(algorithm->accepts(&problem, &facts, &text));
  facts.workspace_limit = 15;
  assert_false(algorithm->accepts(&problem, &facts, &text));
  assert_non_null(strstr(reason, "need 16 bytes of workspace, the limit is 15"));
}

int main(int count, char **arguments) {
  tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
  int ready = test_engine_open(&engine, INT64_C(64) << 20);
  if (ready) return ready;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_row_computes_what_the_definition_says),
      cmocka_unit_test(too_little_scratch_is_refused),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  return failed;
}
