/* A concatenation along channels that nobody carries out: a plan's operations write parts of one
 * tensor, others read it or parts of it, and gradients go the same way back. All arrays lie in one,
 * which must be the same to the last bit as when every element is computed by its definition: the
 * values are whole numbers, and what lies between the arrays stays as it was. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "engine.h"
#include "problem/operation.h"

/* Where arrays begin, in floats: those of their own at multiples of CVY_PLACE_ALIGN bytes. T has 3
 * and 8 channels of 5x5, the rest belongs to nobody. */
enum {
  X = 0,
  W1 = 256,
  W2 = 384,
  W3 = 448,
  W4 = 1088,
  GIVEN = 1152,
  T = 1152,
  T8 = T + 3 * 25,
  Y3 = 1728,
  Y4 = 2048,
  DT = 2304,
  DT8 = DT + 3 * 25,
  DW1 = 2880,
  P = 3008,
  U = 3520,
  FLOATS = 3968
};

static const struct {
  const char *text;
  int64_t in[2], out;
  int32_t accumulate;
} steps[] = {
    {"n2c4h5w5 k3r3s3 pad1 forward, y 275 apart by 1", {X, W1}, T, 0},
    {"n2c4h5w5 k8r1s1 forward", {X, W2}, U, 0},
    {"y0 = max(x0, 0) on n2c8h5w5 y0:strides=275,25,0,5,1", {U}, T8, 0},
    {"n2c11h5w5 k6r3s3 pad1 forward", {T, W3}, Y3, 0},
    {"n2c8h5w5 k4r1s1 forward, x 275 apart by 1", {T8, W4}, Y4, 0},
    {"max_pool n2c8h5w5 r3s3 pad1, x 275 apart by 1", {T8}, P, 0},
    {"n2c11h5w5 k6r3s3 pad1 backward_data", {Y3, W3}, DT, 0},
    {"n2c8h5w5 k4r1s1 backward_data, x 275 apart by 1", {Y4, W4}, DT8, 1},
    {"n2c4h5w5 k3r3s3 pad1 backward_weights, y 275 apart by 1", {X, DT}, DW1, 0},
};
enum { STEPS = CVY_COUNT(steps) };

static test_engine engine;
static cvy_problem problems[STEPS];
static float before[FLOATS], wanted[FLOATS];

static void define(const cvy_problem *problem, int step) {
  const cvy_array array = cvy_problem_output(problem, 0);
  float *out = wanted + steps[step].out;
  cvy_values from = {{NULL}};
  int32_t inputs = cvy_problem_inputs(problem);
  for (int32_t i = 0; i < inputs; i++) from.in[i] = wanted + steps[step].in[i];
  if (problem->accumulate) from.in[inputs] = out;
  for (int64_t i = 0; i < cvy_array_count(&array); i++)
    out[cvy_array_place(&array, i)] = (float)cvy_problem_element(problem, &from, 0, i).value;
}

/* No sum of so many -1, 0 and 1 comes near what a float32 cannot hold. */
static int begin(void **state) {
  (void)state;
  test_random random = {7};
  for (int i = 0; i < FLOATS; i++)
    before[i] = i < GIVEN ? (float)test_between(&random, -1, 1) : (float)i + 0.5f;
  memcpy(wanted, before, sizeof wanted);
  for (int s = 0; s < STEPS; s++) {
    if (!cvy_problem_read(steps[s].text, &problems[s])) return -1;
    problems[s].accumulate = steps[s].accumulate;
    define(&problems[s], s);
  }
  return 0;
}

/* The `turn`-th of the rows that take the problem and round nothing, over and over. */
static int32_t find_row(const cvy_problem *problem, int turn) {
  const cvy_algorithm *const *rows = engine.backend->algorithms;
  int32_t takes[64], count = 0;
  for (int32_t i = 0; rows[i]; i++)
    if (rows[i]->error_growth == 0 && test_engine_takes(&engine, rows[i], problem))
      takes[count++] = i;
  assert_true(count > 0);
  return takes[turn % count];
}

static void make_plan(uint64_t plan, int turn) {
  const cvy_backend *b = engine.backend;
  for (int s = 0; s < STEPS; s++) {
    cvy_job job;
    cvy_params params = {{0}};
    int32_t row = find_row(&problems[s], turn);
    if (b->algorithms[row]->defaults)
      b->algorithms[row]->defaults(&problems[s], b->facts(engine.device), &params);
    cvy_job_set(&job, &problems[s], row, &params);
    for (int32_t i = 0; i < cvy_problem_inputs(&problems[s]); i++)
      job.in[i] = cvy_place(0, steps[s].in[i] * (int64_t)sizeof(float));
    job.out[0] = cvy_place(0, steps[s].out * (int64_t)sizeof(float));
    assert_int_equal(command_plan_job(b, engine.device, plan, &job), CONVOY_OK);
  }
}

static void a_plan_writes_and_reads_parts(void **state) {
  const cvy_backend *b = engine.backend;
  static float got[FLOATS];
  (void)state;
  for (int turn = 0; turn < 4; turn++) {
    uint64_t plan = (uint64_t)turn + 1;
    make_plan(plan, turn);
    for (int run = 0; run < 2; run++) {
      uint64_t ticket, fault;
      const cvy_base base = {.id = test_engine_array(&engine, before, FLOATS)};
      assert_int_equal(command_plan_bind(b, engine.device, plan, 0, 1, &base), CONVOY_OK);
      assert_int_equal(command_plan_run(b, engine.device, plan, 0, &ticket), CONVOY_OK);
      assert_int_equal(b->wait(engine.device, ticket, NULL, &fault), CONVOY_OK);
      assert_int_equal(command_read(b, engine.device, base.id, got, sizeof got), CONVOY_OK);
      assert_memory_equal(got, wanted, sizeof got);
      command_release(b, engine.device, base.id);
    }
    command_plan_drop(b, engine.device, plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_plan_writes_and_reads_parts)};
  int skipped = test_engine_open(&engine, INT64_C(64) << 20);
  if (skipped) return skipped;
  int failed = cmocka_run_group_tests(tests, begin, NULL);
  test_engine_close(&engine);
  return failed;
}
