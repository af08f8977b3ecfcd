/* Which algorithm runs: table order, a name, a record; refusals have reasons. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/context.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/tune/choose.h"
#include "core/tune/params.h"
#include "core/tune/tunefile.h"
#include "problem/conv/conv.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static convoy_conv strided(void) {
  convoy_conv result = CONVOY_CONV_INIT(1);
  result.stride[0] = 2;
  return result;
}

static int reset(void **state) {
  (void)state;
  fake_reset();
  return 0;
}

static convoy_status run_with(convoy_context *context, const convoy_conv *geometry,
                              convoy_run *run) {
  float y[3];
  *run = (convoy_run)CONVOY_RUN_INIT;
  return convoy_forward_host(context, geometry, x_shape, x, w_shape, w, NULL, NULL, y, run);
}

static void check_runs(convoy_context *context, const convoy_conv *geometry, const char *name) {
  convoy_run run;
  assert_int_equal(run_with(context, geometry, &run), CONVOY_OK);
  assert_string_equal(run.algorithm, name);
}

static void test_table_order(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_NO);
  convoy_conv two = strided();
  assert_string_equal(convoy_algorithm_name(context, 0), "fake.tiled");
  assert_string_equal(convoy_algorithm_name(context, 1), "fake.direct");
  assert_null(convoy_algorithm_name(context, 2));
  assert_null(convoy_algorithm_name(context, -1));
  for (int i = 0; i < 3; i++) { /* also when the choice is remembered */
    check_runs(context, &conv, "fake.tiled");
    check_runs(context, &two, "fake.direct");
  }
  convoy_close(context);
}

/* As many problems as YOLOv8n has, each carried out twice: nothing is looked up a second time,
 * which takes longer than a small layer. */
static void test_choices_of_a_network_are_kept(void **state) {
  (void)state;
  enum { PROBLEMS = 120 };
  static const float long_x[PROBLEMS + 4];
  float y[PROBLEMS + 4];
  convoy_context *context = open_named("fake", CONVOY_NO);
  for (int round = 0; round < 2; round++) {
    for (int64_t i = 0; i < PROBLEMS; i++) {
      int64_t shape[] = {1, 1, 4 + i};
      assert_int_equal(
          convoy_forward_host(context, &conv, shape, long_x, w_shape, w, NULL, NULL, y, NULL),
          CONVOY_OK);
    }
  }
  assert_int_equal(context->chooser.choices, PROBLEMS);
  convoy_close(context);
}

/* Each call draws other random numbers, and which they are changes nothing. */
static void test_random_numbers_change_no_choice(void **state) {
  (void)state;
  static const char *const texts[] = {"y = x * random(0)", "y = sum over w of x * random(0)"};
  static const int64_t shapes[][3] = {{1, 1, 4}, {1, 1, 1}};
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    convoy_context *context = open_named("fake", CONVOY_NO);
    convoy_program *program = program_of(texts[i]);
    convoy_tensor *all[] = {tensor_of(context, x_shape, x), tensor_of(context, shapes[i], NULL)};
    for (int times = 0; times < 3; times++)
      assert_int_equal(apply_to(context, program, all, NULL), CONVOY_OK);
    assert_int_equal(context->chooser.choices, 1);
    convoy_tensor_free(all[0]);
    convoy_tensor_free(all[1]);
    convoy_program_free(program);
    convoy_close(context);
  }
}

/* Passed over, but not refused. */
static void test_what_does_not_pay(void **state) {
  (void)state;
  fake.tiles_are_slow = true;
  convoy_context *context = open_named("fake", CONVOY_NO);
  check_runs(context, &conv, "fake.direct");
  assert_int_equal(convoy_set_algorithm(context, "fake.tiled"), CONVOY_OK);
  check_runs(context, &conv, "fake.tiled");
  convoy_close(context);
}

static void test_forced(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_conv two = strided();
  convoy_run run;
  assert_int_equal(convoy_set_algorithm(context, "fake.direct"), CONVOY_OK);
  check_runs(context, &conv, "fake.direct");
  assert_int_equal(convoy_set_algorithm(context, "fake.tiled"), CONVOY_OK);
  check_runs(context, &conv, "fake.tiled");
  /* Refused although failover is on: it was asked for by name. */
  assert_int_equal(run_with(context, &two, &run), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(convoy_last_error(), "fake.tiled refuses"));
  assert_non_null(strstr(convoy_last_error(), "stride 2 is not 1"));
  assert_int_equal(convoy_set_algorithm(context, "cpu.direct"), CONVOY_ERR_NOT_FOUND);
  check_runs(context, &conv, "fake.tiled");
  /* A fault sends even a forced operation to the CPU. */
  fake.fail_at = fake_seen.commands + 1;
  assert_int_equal(run_with(context, &conv, &run), CONVOY_OK);
  assert_string_equal(run.device, "cpu");
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  check_runs(context, &two, "fake.direct");
  convoy_close(context);
}

static void test_forced_by_option(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake";
  options.failover = CONVOY_NO;
  options.algorithm = "fake.direct";
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  check_runs(context, &conv, "fake.direct");
  convoy_close(context);
  options.algorithm = "cpu.direct";
  assert_int_equal(convoy_open(&options, &context), CONVOY_ERR_NOT_FOUND);
  assert_int_equal(fake_seen.opens, fake_seen.closes);
  /* The name is the missing device's: it does not keep the CPU engine from serving. */
  options.algorithm = "fake.direct";
  options.failover = CONVOY_ON;
  fake.open_status = CONVOY_ERR_DEVICE;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  convoy_run run;
  assert_int_equal(run_with(context, &conv, &run), CONVOY_OK);
  assert_string_equal(run.device, "cpu");
  convoy_close(context);
}

/* What no row of the device takes is computed on the CPU, and that is told once. */
static void test_device_refuses_all(void **state) {
  (void)state;
  fake.refuses_all = true;
  convoy_run run;
  convoy_context *context = open_named("fake", CONVOY_ON);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(run_with(context, &conv, &run), CONVOY_OK);
    assert_string_equal(run.device, "cpu");
    assert_int_equal(run.attempts, 1);
  }
  assert_int_equal(health_of(context).downgrades, 1); /* not with every call */
  assert_int_equal(health_of(context).faults, 0);
  convoy_close(context);
  context = open_named("fake", CONVOY_NO);
  assert_int_equal(run_with(context, &conv, &run), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(convoy_last_error(), "fake.direct: the script says so"));
  convoy_close(context);
}

/* ----------------------------------------------------------------------------------- plans */

static convoy_plan plan_of(convoy_context *context, const char *name, const convoy_conv *geometry,
                           convoy_direction direction) {
  convoy_plan plan = {.struct_size = sizeof(plan)};
  assert_int_equal(convoy_plan_problem(context, name, geometry, direction, x_shape, w_shape, &plan),
                   CONVOY_OK);
  return plan;
}

static void test_plans(void **state) {
  (void)state;
  convoy_context *context = open_named("fake", CONVOY_NO);
  convoy_conv two = strided();
  convoy_plan plan = plan_of(context, NULL, &conv, CONVOY_FORWARD);
  assert_int_equal(plan.accepted, 1);
  assert_string_equal(plan.algorithm, "fake.tiled");
  assert_string_equal(plan.parameters, "TILE=16 WORK=2");
  assert_int_equal(plan.workspace_bytes, 16000);
  assert_string_equal(plan.reason, "");

  plan = plan_of(context, "fake.tiled", &two, CONVOY_FORWARD);
  assert_int_equal(plan.accepted, 0);
  assert_string_equal(plan.algorithm, "fake.tiled");
  assert_string_equal(plan.reason, "stride 2 is not 1");
  plan = plan_of(context, "fake.tiled", &conv, CONVOY_BACKWARD_BIAS);
  assert_string_equal(plan.reason, "it does not do this operation");
  assert_int_equal(convoy_set_algorithm(context, "fake.tiled"), CONVOY_OK);
  plan = plan_of(context, NULL, &two, CONVOY_FORWARD);
  assert_int_equal(plan.accepted, 0);
  assert_string_equal(plan.algorithm, "fake.tiled");
  assert_true(plan.reason[0] != '\0');
  assert_int_equal(
      convoy_plan_problem(context, "nothing", &conv, CONVOY_FORWARD, x_shape, w_shape, &plan),
      CONVOY_ERR_NOT_FOUND);
  assert_int_equal(fake_seen.commands, 0);
  convoy_close(context);
}

/* --------------------------------------------------------------------------------- records */

static uint64_t tiled_hash(void) {
  const cvy_engine engine = {.backend = cvy_backends[1]};
  return cvy_signature(&engine, engine.backend->algorithms[0]);
}

static cvy_record record_for(const char *algorithm, const char *params, double milliseconds) {
  cvy_record record = {.hash = tiled_hash(), .milliseconds = milliseconds};
  assert_int_equal(
      cvy_conv_make(&conv, CONVOY_FORWARD, x_shape, w_shape, 0, false, NULL, &record.problem),
      CONVOY_OK);
  strcpy(record.algorithm, algorithm);
  strcpy(record.params, params);
  strcpy(record.device, "Fake|Processor"); /* a name that needs care in a file */
  strcpy(record.driver, "1.0");
  return record;
}

/* Opens fake:0 with these records and returns the parameters that run. */
static void check_records(const cvy_record *records, size_t count, bool tune, const char *wanted) {
  char path[] = "/tmp/convoy-test-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  FILE *file = fdopen(fd, "w");
  fputs("convoy-tune 1\n", file);
  for (size_t i = 0; i < count; i++) {
    char line[1024];
    assert_true(cvy_record_format(&records[i], line, sizeof(line)));
    fputs(line, file);
  }
  fclose(file);
  setenv("CONVOY_TUNE_FILE", path, 1);
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake:0";
  options.tune = tune ? CONVOY_ON : CONVOY_NO;
  options.workspace_limit = 20000;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  convoy_run run;
  assert_int_equal(run_with(context, &conv, &run), CONVOY_OK);
  assert_string_equal(run.parameters, wanted);
  convoy_close(context);
  unlink(path);
  unsetenv("CONVOY_TUNE_FILE");
}

static void test_records(void **state) {
  (void)state;
  const char *const standard = "TILE=16 WORK=2";
  cvy_record good[] = {record_for("fake.tiled", "TILE=16 WORK=1", 3.0),
                       record_for("fake.tiled", "TILE=8 WORK=4", 2.0),
                       record_for("fake.tiled", "TILE=8 WORK=1", 2.5)};
  check_records(good, 3, true, "TILE=8 WORK=4"); /* the fastest */
  check_records(good, 1, true, "TILE=16 WORK=1");
  check_records(good, 3, false, standard);

  cvy_record bad = record_for("fake.tiled", "TILE=32 WORK=4", 1.0); /* not valid together */
  check_records(&bad, 1, true, standard);
  bad = record_for("fake.tiled", "TILE=32 WORK=1", 1.0); /* more workspace than allowed */
  check_records(&bad, 1, true, standard);
  bad = record_for("fake.tiled", "TILE=9 WORK=1", 1.0); /* no such value */
  check_records(&bad, 1, true, standard);
  bad = record_for("fake.other", "TILE=8 WORK=1", 1.0); /* no such row */
  check_records(&bad, 1, true, standard);
  bad = record_for("fake.tiled", "TILE=8 WORK=1", 1.0);
  bad.hash ^= 1; /* its parameters meant something else */
  check_records(&bad, 1, true, standard);
  bad = record_for("fake.tiled", "TILE=8 WORK=1", 1.0);
  strcpy(bad.driver, "0.9");
  check_records(&bad, 1, true, standard);
  strcpy(bad.driver, "1.0");
  strcpy(bad.device, "Another");
  check_records(&bad, 1, true, standard);
}

/* A part of a larger tensor is computed as the same problem on arrays of its own was measured to be
 * fastest, unless there is a record of the part. */
static void test_records_serve_parts(void **state) {
  (void)state;
  const cvy_engine engine = {
      .backend = cvy_backends[1],
      .facts = {.info = {.name = "Fake|Processor", .driver = "1.0"}, .workspace_limit = 20000}};
  cvy_record known[] = {record_for("fake.tiled", "TILE=8 WORK=4", 2.0),
                        record_for("fake.tiled", "TILE=8 WORK=1", 3.0)};
  cvy_chooser *chooser = calloc(1, sizeof *chooser);
  cvy_choice choice;
  assert_non_null(chooser);
  for (size_t i = 0; i < CVY_COUNT(known); i++) cvy_record_place(&engine.facts, &known[i]);
  cvy_problem part = known[0].problem;
  part.conv.x = (cvy_array_view){8, 2};
  known[1].problem = part;
  chooser->records = (cvy_records){.list = known, .count = 1};
  assert_int_equal(cvy_choose(chooser, &engine, &part, &choice), CONVOY_OK);
  assert_int_equal(choice.params.value[1], 4);
  cvy_choices_forget(&chooser->made);
  chooser->records.count = 2;
  assert_int_equal(cvy_choose(chooser, &engine, &part, &choice), CONVOY_OK);
  assert_int_equal(choice.params.value[1], 1);
  free(chooser);
}

/* Records of a card through OpenCL are none of the same card through CUDA, and the other way
 * round: only those of another version of the same runtime's driver are stale. */
static void test_stale_is_of_the_same_runtime(void **state) {
  (void)state;
  cvy_record known[] = {{.algorithm = "ocl.none", .device = "Card", .driver = "570.1"},
                        {.algorithm = "ocl.none", .device = "Card", .driver = "CUDA 12.4, 570.1"},
                        {.algorithm = "ocl.none", .device = "Card", .driver = "CUDA 12.8, 570.2"},
                        {.algorithm = "ocl.none", .device = "Card", .driver = "HIP 6.4.43483"},
                        {.algorithm = "ocl.none", .device = "Other", .driver = "CUDA 12.4, 570.1"}};
  static const int32_t wanted[CVY_RUNTIMES] = {
      [CVY_RUNTIME_OPENCL] = 1, [CVY_RUNTIME_HIP] = 1, [CVY_RUNTIME_CUDA] = 2};
  const cvy_records records = {.list = known, .count = CVY_COUNT(known)};
  cvy_engine engine = {.backend = cvy_backends[0]};
  cvy_text_copy(engine.facts.info.name, sizeof(engine.facts.info.name), "Card");
  cvy_text_copy(engine.facts.info.driver, sizeof(engine.facts.info.driver), "now");
  for (int32_t i = 0; i < CVY_RUNTIMES; i++) {
    engine.facts.runtime = i;
    assert_int_equal(cvy_records_stale(&records, &engine), wanted[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stale_is_of_the_same_runtime),
      cmocka_unit_test_setup(test_table_order, reset),
      cmocka_unit_test_setup(test_choices_of_a_network_are_kept, reset),
      cmocka_unit_test_setup(test_random_numbers_change_no_choice, reset),
      cmocka_unit_test_setup(test_what_does_not_pay, reset),
      cmocka_unit_test_setup(test_forced, reset),
      cmocka_unit_test_setup(test_forced_by_option, reset),
      cmocka_unit_test_setup(test_device_refuses_all, reset),
      cmocka_unit_test_setup(test_plans, reset),
      cmocka_unit_test_setup(test_records, reset),
      cmocka_unit_test_setup(test_records_serve_parts, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
