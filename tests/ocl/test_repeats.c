/* Jobs that come again, with other arrays, with changed weights or with one array in two roles,
 * give the bits of a device that never saw them before. And jobs are flushed in bursts, but none is
 * forgotten. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "counting.h"
#include "engine.h"
#include "problem/conv/conv.h"

static test_engine engine;
static faults_control *layer; /* counts calls of OpenCL */

/* ------------------------------------------------------------------------------- cases */

static void make_problem(convoy_direction direction, int64_t groups, bool bias, cvy_problem *out) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  const int64_t x[] = {2, 16, 12, 12}, w[] = {16, 16 / groups, 3, 3};
  conv.groups = groups;
  for (int axis = 0; axis < 2; axis++) conv.pad_begin[axis] = conv.pad_end[axis] = 1;
  assert_int_equal(cvy_conv_make(&conv, direction, x, w, 0, bias, NULL, out), CONVOY_OK);
}

static uint64_t new_values(int64_t count, int seed) {
  float *values = test_engine_values(count, seed);
  assert_non_null(values);
  uint64_t id = test_engine_array(&engine, values, count);
  free(values);
  return id;
}

static cvy_job new_job(const cvy_problem *problem, int32_t row, int seed) {
  const cvy_algorithm *algorithm = engine.backend->algorithms[row];
  cvy_job job = {.problem = *problem, .algorithm = row};
  if (algorithm->defaults)
    algorithm->defaults(problem, engine.backend->facts(engine.device), &job.params);
  job.in[0].id = new_values(cvy_conv_count(problem, cvy_conv_in(problem, 0)), seed);
  job.in[1].id = new_values(cvy_conv_count(problem, cvy_conv_in(problem, 1)), seed + 1);
  if (problem->conv.has_bias)
    job.in[2].id = new_values(cvy_conv_count(problem, CVY_BIAS), seed + 2);
  job.out[0].id = new_values(cvy_conv_count(problem, cvy_conv_out(problem)), seed + 3);
  return job;
}

static float *result_of(const cvy_job *job) {
  int64_t bytes = cvy_conv_count(&job->problem, cvy_conv_out(&job->problem)) * 4;
  float *out = malloc((size_t)bytes);
  assert_non_null(out);
  assert_int_equal(command_run(engine.backend, engine.device, job, NULL), CONVOY_OK);
  assert_int_equal(command_read(engine.backend, engine.device, job->out[0].id, out, bytes),
                   CONVOY_OK);
  return out;
}

/* The result on a device of its own, where nothing came before. */
static float *first_result(const cvy_problem *problem, int32_t row, int seed, bool alias) {
  test_engine before = engine;
  assert_int_equal(test_engine_open(&engine, INT64_C(64) << 20), 0);
  cvy_job job = new_job(problem, row, seed);
  if (alias) job.in[1] = job.in[0];
  float *out = result_of(&job);
  test_engine_close(&engine);
  engine = before;
  return out;
}

static void assert_same(const cvy_problem *problem, int32_t row, float *one, float *other,
                        const char *what) {
  size_t bytes = (size_t)cvy_conv_count(problem, cvy_conv_out(problem)) * sizeof *one;
  if (memcmp(one, other, bytes) != 0) {
    fail_msg("%s, direction %d: other bits %s", engine.backend->algorithms[row]->name,
             (int)problem->operation, what);
  }
  free(one);
  free(other);
}

static uint64_t launches(void) {
  return faults_control_calls(layer, "clEnqueueNDRangeKernel");
}

static void compare(const cvy_problem *problem, int32_t row) {
  uint64_t begin = launches();
  cvy_job one = new_job(problem, row, 1);
  free(result_of(&one));
  uint64_t middle = launches();
  cvy_job two = new_job(problem, row, 20);
  float *again = result_of(&two);
  assert_int_equal(launches() - middle, middle - begin);
  assert_same(problem, row, again, first_result(problem, row, 20, false), "with other arrays");

  int64_t weights = cvy_conv_count(problem, cvy_conv_in(problem, 1));
  uint64_t changed = new_values(weights, 21);
  one.in[0] = two.in[0];
  one.in[2] = two.in[2];
  assert_int_equal(
      command_copy(engine.backend, engine.device, changed, one.in[1].id, weights * 4, NULL), 0);
  assert_same(problem, row, result_of(&one), result_of(&two), "with changed weights");
  assert_same(problem, row, result_of(&one), result_of(&two), "with weights used before");
}

static void repeated_jobs_give_the_same_bits(void **state) {
  (void)state;
  int compared = 0;
  for (int32_t row = 0; engine.backend->algorithms[row]; row++) {
    for (int direction = CONVOY_FORWARD; direction <= CONVOY_BACKWARD_WEIGHTS; direction++) {
      for (int64_t groups = 1; groups <= 16; groups *= 16) {
        cvy_problem problem;
        make_problem((convoy_direction)direction, groups, direction == CONVOY_FORWARD, &problem);
        if (!test_engine_takes(&engine, engine.backend->algorithms[row], &problem)) continue;
        compare(&problem, row);
        compared++;
      }
    }
  }
  print_message("%d cases\n", compared);
  assert_true(compared >= 6);
}

/* With one array in two roles it cannot be told in which of them a launch used it. */
static void one_array_in_two_roles_is_no_model_for_two(void **state) {
  (void)state;
  cvy_problem problem;
  make_problem(CONVOY_BACKWARD_WEIGHTS, 1, false, &problem);
  for (int32_t row = 0; engine.backend->algorithms[row]; row++) {
    if (!test_engine_takes(&engine, engine.backend->algorithms[row], &problem)) continue;
    cvy_job two = new_job(&problem, row, 7);
    cvy_job one = two;
    one.in[1] = one.in[0];
    assert_same(&problem, row, result_of(&one), first_result(&problem, row, 7, true), "of one");
    assert_same(&problem, row, result_of(&two), first_result(&problem, row, 7, false), "of two");
    assert_same(&problem, row, result_of(&one), first_result(&problem, row, 7, true), "of one");
  }
}

/* ----------------------------------------------------------------------------- flushes */

enum { JOBS = 200 };

static uint64_t flushes(void) {
  return faults_control_calls(layer, "clFlush");
}

static void jobs_are_flushed_in_bursts_and_when_the_engine_rests(void **state) {
  (void)state;
  cvy_problem problem;
  make_problem(CONVOY_FORWARD, 16, false, &problem);
  int32_t row = 0;
  while (!test_engine_takes(&engine, engine.backend->algorithms[row], &problem)) row++;
  cvy_job job = new_job(&problem, row, 3);
  uint64_t ticket = 0;
  free(result_of(&job));
  uint64_t before = flushes();
  assert_int_equal(command_run(engine.backend, engine.device, &job, &ticket), CONVOY_OK);
  assert_int_equal(flushes() - before, 1); /* the device waits for it */
  for (int i = 1; i < JOBS; i++)
    assert_int_equal(command_run(engine.backend, engine.device, &job, &ticket), CONVOY_OK);
  assert_in_range(flushes() - before, JOBS / 20, JOBS / 10);
  before = flushes();
  engine.backend->poll(engine.device);
  assert_int_equal(flushes() - before, 1);
  assert_int_equal(command_run(engine.backend, engine.device, &job, &ticket), CONVOY_OK);
  assert_int_equal(engine.backend->wait(engine.device, ticket, NULL, NULL), CONVOY_OK);
  assert_int_equal(flushes() - before, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_array_in_two_roles_is_no_model_for_two),
      cmocka_unit_test(repeated_jobs_give_the_same_bits),
      cmocka_unit_test(jobs_are_flushed_in_bursts_and_when_the_engine_rests),
  };
  layer = test_counting_begin();
  if (!layer) return 1;
  int status = test_engine_open(&engine, INT64_C(64) << 20);
  if (status) {
    test_counting_end(layer);
    return status;
  }
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  test_counting_end(layer);
  return failed;
}
