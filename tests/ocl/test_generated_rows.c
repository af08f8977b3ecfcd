/* Programs and reductions through the rows of the OpenCL engine: every element has the bits of the
 * definition, which are those of the CPU engine (tests/program/test_arrays.c, test_reduce.c), the
 * first time and when the job comes again with other arrays, in one launch and in many.
 *
 * "tiny" as argument: few of them, for a simulator, in which launches cannot be counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "counting.h"
#include "engine.h"
#include "problem/program/program.h"
#include "program/arrays.h"

enum { PROBLEMS = 30, TINY_PROBLEMS = 8 };

static test_engine whole, parted;
static faults_control *layer; /* counts the launches */
static test_arrays all;
static bool tiny;

static uint64_t launches(void) {
  return faults_control_calls(layer, "clEnqueueNDRangeKernel");
}

/* ---------------------------------------------------------------------------------- problems */

/* As an operation has them: dense results, from the first element on. */
static void make_dense(void) {
  int64_t extent[CVY_PROGRAM_AXES];
  uint32_t reduced = all.reduction.how.axes;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    extent[axis] = reduced >> axis & 1 ? 1 : all.problem.extent[axis];
  for (int k = 0; k < all.results; k++)
    all.problem.result[k] = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, extent);
  memcpy(all.reduction.of.result, all.problem.result, sizeof all.problem.result);
}

static void random_problem(int number, cvy_problem *out) {
  test_random random = {7000 + (uint64_t)number};
  bool reduces = number % 2, aligned = number / 2 % 2;
  cvy_program program;
  test_random_program(&random, reduces ? TEST_TAME : TEST_ANY,
                      (int)test_between(&random, 1, reduces ? 8 : 16), &program);
  if (reduces)
    test_arrays_reduction(&random, &program, aligned, &all);
  else
    test_arrays_views(&random, &program, aligned, &all);
  make_dense();
  test_arrays_memory(&random, aligned, reduces, &all);
  convoy_status status =
      reduces ? cvy_reduce_make(&all.reduction, out) : cvy_program_make(&all.problem, out);
  if (status) fail_msg("problem %d: %s", number, cvy_last_error());
}

static int32_t row_of(const cvy_problem *problem) {
  int32_t row = 0;
  while (!cvy_algorithm_does(whole.backend->algorithms[row], problem)) row++;
  assert_true(test_engine_takes(&whole, whole.backend->algorithms[row], problem));
  return row;
}

/* ----------------------------------------------------------------------------------- running */

static cvy_job new_job(test_engine *engine, const cvy_problem *problem) {
  cvy_job job = {.problem = *problem, .algorithm = row_of(problem)};
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    const void *values = test_operand_at(&all.input[i], cvy_problem_input(problem, i).dtype);
    job.in[i].id = test_engine_bytes(engine, values, cvy_problem_input_bytes(problem, i));
  }
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++)
    job.out[k].id =
        test_engine_bytes(engine, all.result[k].memory.real, cvy_problem_output_bytes(problem, k));
  return job;
}

static void release(test_engine *engine, const cvy_job *job) {
  for (int i = 0; i < CVY_MAX_INPUTS; i++)
    command_release(engine->backend, engine->device, job->in[i].id);
  for (int k = 0; k < CVY_MAX_OUTPUTS; k++)
    command_release(engine->backend, engine->device, job->out[k].id);
}

static void run_job(test_engine *engine, const cvy_job *job) {
  uint64_t ticket = 0, fault = 0;
  if (command_run(engine->backend, engine->device, job, &ticket) ||
      engine->backend->wait(engine->device, ticket, NULL, &fault))
    fail_msg("%s", engine->module->last_error());
}

static void read_result(test_engine *engine, const cvy_job *job, int32_t k, float *to) {
  int64_t bytes = cvy_problem_output_bytes(&job->problem, k);
  if (bytes == 0) return;
  assert_int_equal(command_read(engine->backend, engine->device, job->out[k].id, to, bytes),
                   CONVOY_OK);
}

/* Results are where `all` has them, guards around them. */
static int wrong_results(test_engine *engine, const cvy_job *job, const char *who) {
  int wrong = 0;
  for (int32_t k = 0; k < all.results; k++) {
    read_result(engine, job, k, all.result[k].memory.real + all.result[k].offset);
    wrong += test_arrays_wrong(&all, k, all.result[k].memory.real, who);
  }
  return wrong;
}

static int run_and_compare(test_engine *engine, const cvy_problem *problem, const char *who) {
  cvy_job job = new_job(engine, problem);
  run_job(engine, &job);
  int wrong = wrong_results(engine, &job, who);
  release(engine, &job);
  return wrong;
}

/* ------------------------------------------------------------------------------------- cases */

static void results_have_the_bits_of_the_definition(void **state) {
  (void)state;
  int64_t elements = 0, plain = 0;
  int wrong = 0, types = 0;
  for (int number = 0; number < (tiny ? TINY_PROBLEMS : PROBLEMS); number++) {
    cvy_problem problem;
    char who[64];
    random_problem(number, &problem);
    for (int32_t i = 0; i < cvy_problem_inputs(&problem); i++)
      types |= 1 << cvy_problem_input(&problem, i).dtype;
    test_arrays_expect(&all);
    snprintf(who, sizeof who, "problem %d", number);
    uint64_t begin = launches();
    wrong += run_and_compare(&whole, &problem, who);
    uint64_t first = launches() - begin;
    snprintf(who, sizeof who, "problem %d, once more", number);
    uint64_t unused = test_engine_bytes(&whole, &problem, 1000); /* so that arrays lie elsewhere */
    wrong += run_and_compare(&whole, &problem, who);
    command_release(whole.backend, whole.device, unused);
    assert_int_equal(launches() - begin, 2 * first);
    elements += all.elements;
    plain += all.plain;
  }
  print_message("%lld elements, %lld plain\n", (long long)elements, (long long)plain);
  assert_int_equal(wrong, 0);
  assert_true(tiny || types == 7);
  assert_true(plain > elements * 3 / 4);
}

/* --------------------------------------------------------------------------- particular ones */

static void problem_of(const char *text, cvy_problem *out) {
  cvy_program_names names;
  if (cvy_program_read_named(text, out, &names)) fail_msg("%s: %s", text, cvy_last_error());
}

/* A problem of few inputs, which have the numbers 0, 1, 2, ... of their types. */
static cvy_job counting_job(test_engine *engine, const char *text) {
  static uint8_t bytes[1 << 12];
  static float floats[1 << 20];
  cvy_problem problem;
  problem_of(text, &problem);
  for (size_t i = 0; i < CVY_COUNT(bytes); i++) bytes[i] = (uint8_t)i;
  for (size_t i = 0; i < CVY_COUNT(floats); i++) floats[i] = (float)(i % 4096);
  cvy_job job = {.problem = problem, .algorithm = row_of(&problem)};
  for (int32_t i = 0; i < cvy_problem_inputs(&problem); i++) {
    cvy_array array = cvy_problem_input(&problem, i);
    bool small = array.dtype == CONVOY_UINT8;
    assert_true(cvy_array_bytes(&array) <= (int64_t)(small ? sizeof bytes : sizeof floats));
    job.in[i].id =
        test_engine_bytes(engine, small ? (void *)bytes : floats, cvy_array_bytes(&array));
  }
  for (int32_t k = 0; k < cvy_problem_outputs(&problem); k++)
    job.out[k].id = test_engine_bytes(engine, floats, cvy_problem_output_bytes(&problem, k));
  return job;
}

static void run_and_read(test_engine *engine, const cvy_job *job, float *to) {
  run_job(engine, job);
  for (int32_t k = 0; k < cvy_problem_outputs(&job->problem); k++) {
    read_result(engine, job, k, to);
    to += cvy_problem_output_bytes(&job->problem, k) / 4;
  }
  release(engine, job);
}

static void of_no_elements_there_are_results(void **state) {
  (void)state;
  float out[12];
  cvy_job job = counting_job(
      &whole,
      "y0 = sum over n w of x0; y1 = maximum over n w of x0; y2 = mean over n w of x0 on "
      "n0c3w4");
  assert_int_equal(job.in[0].id, 0);
  run_and_read(&whole, &job, out);
  for (int c = 0; c < 3; c++)
    assert_true(out[c] == 0.0f && out[3 + c] == -INFINITY && isnan(out[6 + c]));
  uint64_t before = launches();
  job = counting_job(&whole, "y0 = x0 + 1 on n0c3");
  run_and_read(&whole, &job, out);
  job = counting_job(&whole, "y0 = sum over w of x0 on n0c3w5");
  run_and_read(&whole, &job, out);
  assert_int_equal(launches(), before);
}

static void one_element_is_enough(void **state) {
  (void)state;
  float out[2];
  cvy_job job = counting_job(&whole, "y0 = x0 + 3 on n1");
  run_and_read(&whole, &job, out);
  assert_true(out[0] == 3.0f);
  job = counting_job(&whole,
                     "y0 = sum over n c z h w of x0 + 5; y1 = maximum over n c z h w of x0 "
                     "+ 5 on n1");
  run_and_read(&whole, &job, out);
  assert_true(out[0] == 5.0f && out[1] == 5.0f);
}

/* Arrays of bytes begin at multiples of floats, and are counted in bytes by kernels. */
static void bytes_are_counted_as_bytes(void **state) {
  (void)state;
  float out[1000] = {0};
  uint64_t before = test_engine_bytes(&whole, out, sizeof out);
  for (int again = 0; again < 2; again++) {
    cvy_job job = counting_job(&whole, "y0 = x0 * 2 on n1000 x0:full:uint8");
    run_and_read(&whole, &job, out);
    for (int i = 0; i < 1000; i++) assert_true(out[i] == 2.0f * (float)(i % 256));
  }
  command_release(whole.backend, whole.device, before);
}

/* Core gives each result an array of its own; the engine does not need it to. */
static void a_result_may_lie_where_an_input_does(void **state) {
  (void)state;
  float out[600];
  for (int again = 0; again < 2; again++) {
    cvy_job job = counting_job(&whole, "y0 = x0 * x1 + x1 on n600");
    command_release(whole.backend, whole.device, job.in[1].id);
    command_release(whole.backend, whole.device, job.out[0].id);
    job.in[1] = job.out[0] = job.in[0];
    run_and_read(&whole, &job, out);
    for (int i = 0; i < 600; i++) assert_true(out[i] == (float)i * (float)i + (float)i);
  }
}

/* The same array twice, and then two: the second job is no copy of the first. */
static void one_array_in_two_roles_is_no_model_for_two(void **state) {
  (void)state;
  float out[100];
  cvy_job one = counting_job(&whole, "y0 = x0 - x1 * 2 on n100"),
          two = counting_job(&whole, "y0 = x0 - x1 * 2 on n100");
  uint64_t second = one.in[1].id;
  float zero[100] = {0};
  assert_int_equal(command_write(whole.backend, whole.device, two.in[1].id, zero, sizeof zero), 0);
  one.in[1] = one.in[0];
  run_and_read(&whole, &one, out);
  for (int i = 0; i < 100; i++) assert_true(out[i] == -(float)i);
  run_and_read(&whole, &two, out);
  for (int i = 0; i < 100; i++) assert_true(out[i] == (float)i);
  command_release(whole.backend, whole.device, second);
}

static void random_numbers_are_those_of_each_job(void **state) {
  (void)state;
  float out[500], expected[1];
  cvy_problem problem;
  problem_of("y0 = random(3) on n500", &problem);
  for (uint64_t run = 0; run < 4; run++) {
    problem.program.seed = run / 2;
    problem.program.run = run;
    cvy_job job = {.problem = problem, .algorithm = row_of(&problem)};
    job.out[0].id = test_engine_bytes(&whole, out, sizeof out);
    run_and_read(&whole, &job, out);
    for (int64_t i = 0; i < 500; i++) {
      cvy_program_problem_element(&problem.program, NULL, i, expected, expected);
      assert_true(out[i] == expected[0]);
    }
  }
}

/* ------------------------------------------------------------------------------------- parts */

/* Opens the same device once more, with launches of a nanosecond. */
static void open_parted(void) {
  cvy_facts facts[16];
  cvy_open_options options = {.workspace_limit = INT64_C(64) << 20, .dispatch = 1e-9};
  const char *name = whole.backend->facts(whole.device)->info.id;
  int32_t count = 0;
  assert_int_equal(whole.backend->list(&options, facts, 16, &count), CONVOY_OK);
  parted = whole;
  for (int32_t i = 0; i < count && i < 16; i++) {
    if (strcmp(facts[i].info.id, name) == 0)
      assert_int_equal(whole.backend->open(i, &options, &parted.device), CONVOY_OK);
  }
}

static void launch_parts_give_the_same_bits(void **state) {
  (void)state;
  static const char *const texts[] = {
      "y0 = x0 * 0.5 + x1 on n4c8h50w60 x1:channel",
      "y0 = variance over n z h w of x0; y1 = sum over n z h w of x0 on n4c8h50w60 piece=2048",
      "y0 = sum over n of x0 * 3 on n300c200w4 piece=64",
  };
  static float one[1 << 18], many[1 << 18];
  if (tiny) skip();
  open_parted();
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    cvy_job first = counting_job(&whole, texts[i]), second = counting_job(&parted, texts[i]);
    memset(one, 0, sizeof one);
    memset(many, 1, sizeof many);
    uint64_t begin = launches();
    run_and_read(&whole, &first, one);
    uint64_t middle = launches();
    run_and_read(&parted, &second, many);
    assert_true(launches() - middle > 2 * (middle - begin));
    int64_t bytes = 0;
    for (int32_t k = 0; k < cvy_problem_outputs(&first.problem); k++)
      bytes += cvy_problem_output_bytes(&first.problem, k);
    assert_memory_equal(one, many, (size_t)bytes);
  }
  test_engine_close(&parted);
}

/* ----------------------------------------------------------------------------------- refusals */

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, char *buffer, size_t size) {
  cvy_text reason = cvy_text_in(buffer, size);
  return whole.backend->algorithms[row_of(problem)]->accepts(problem, facts, &reason);
}

static void refused(const cvy_problem *problem, const cvy_facts *facts, const char *sentence) {
  char buffer[192];
  assert_false(accepts(problem, facts, buffer, sizeof buffer));
  if (!strstr(buffer, sentence)) fail_msg("\"%s\" is not in \"%s\"", sentence, buffer);
}

static void what_a_device_cannot_take_is_refused_with_numbers(void **state) {
  (void)state;
  char buffer[192];
  cvy_problem problem;
  cvy_facts facts = *whole.backend->facts(whole.device);
  problem_of("y0 = sum over h w of x0 on n2c8h99w101 piece=2048", &problem);
  facts.max_work_group = 128;
  facts.max_allocation_bytes = 123456789;
  refused(&problem, &facts, "work-groups of 256 items, the device has 128");
  facts.max_work_group = 256;
  facts.local_memory_bytes = 2048;
  refused(&problem, &facts, "3072 bytes of local memory, the device has 2048");
  facts.max_work_group = 128;
  facts.local_memory_bytes = 32 << 10;
  problem_of("y0 = sum over h w of x0 on n2c8h100w100 piece=2048",
             &problem); /* four lanes an item */
  assert_true(accepts(&problem, &facts, buffer, sizeof buffer));
  facts.max_work_group = 32;
  refused(&problem, &facts, "work-groups of 64 items, the device has 32");
  facts.max_work_group = 256;
  facts.workspace_limit = 300;
  refused(&problem, &facts, "320 bytes, of workspace there may be 300");
}

int main(int count, char **arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_have_the_bits_of_the_definition),
      cmocka_unit_test(of_no_elements_there_are_results),
      cmocka_unit_test(one_element_is_enough),
      cmocka_unit_test(bytes_are_counted_as_bytes),
      cmocka_unit_test(a_result_may_lie_where_an_input_does),
      cmocka_unit_test(one_array_in_two_roles_is_no_model_for_two),
      cmocka_unit_test(random_numbers_are_those_of_each_job),
      cmocka_unit_test(launch_parts_give_the_same_bits),
      cmocka_unit_test(what_a_device_cannot_take_is_refused_with_numbers),
  };
  tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
  layer = test_counting_begin();
  if (!layer) return 1;
  int status = test_engine_open(&whole, INT64_C(64) << 20);
  if (status) {
    test_counting_end(layer);
    return status;
  }
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&whole);
  test_counting_end(layer);
  return failed;
}
