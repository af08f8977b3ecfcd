/* Plans in the engine: a run makes the bits of the same jobs one by one, wherever its bases are
 * bound to; parts of arrays; and what fails is told by step. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "engine.h"
#include "problem/operation.h"

enum { N = 2, C = 8, K = 16, H = 12, ALIGN = CVY_PLACE_ALIGN, STEPS = 6 };

static test_engine engine;
static uint64_t last_plan;

/* y = conv(x, w); z = silu(y + b); p = max_pool(z); dw = backward_weights(x, z); m = mean of p. */
static const char *const texts[STEPS] = {
    "n2c8h12w12 k16r3s3 pad1 forward",
    "y0 = (x0 + x1) * sigmoid(x0 + x1) on n2c16h12w12 x1:channel",
    "max_pool n2c16h12w12 r2s2 stride2",
    "n2c8h12w12 k16r3s3 pad1 backward_weights",
    "y0 = mean over n h w of x0; y1 = variance over n h w of x0 on n2c16h6w6",
    "matmul a2x576 b5x576t",
};
/* Arrays by number, in and out; the first three are given. */
enum { X, W, B, FC, GIVEN, Y = GIVEN, Z, P, DW, MEAN, VARIANCE, LOGITS, ARRAYS };
static const int reads[STEPS][2] = {{X, W}, {Y, B}, {Z, -1}, {X, Z}, {P, -1}, {P, FC}};
static const int makes[STEPS][2] = {{Y, -1},  {Z, -1},          {P, -1},
                                    {DW, -1}, {MEAN, VARIANCE}, {LOGITS, -1}};

static cvy_problem problems[STEPS];
static cvy_job jobs[STEPS];
static int64_t bytes[ARRAYS];
static float *wanted[ARRAYS], *values[GIVEN];

static void find_row(const cvy_problem *problem, cvy_job *job) {
  const cvy_facts *facts = engine.backend->facts(engine.device);
  int32_t row = 0;
  while (!test_engine_takes(&engine, engine.backend->algorithms[row], problem)) row++;
  cvy_params params = {{0}};
  if (engine.backend->algorithms[row]->defaults)
    engine.backend->algorithms[row]->defaults(problem, facts, &params);
  cvy_job_set(job, problem, row, &params);
}

static void note_bytes(int s) {
  for (int i = 0; i < cvy_problem_inputs(&problems[s]); i++)
    bytes[reads[s][i]] = cvy_problem_input_bytes(&problems[s], i);
  for (int i = 0; i < cvy_problem_outputs(&problems[s]); i++)
    bytes[makes[s][i]] = cvy_problem_output_bytes(&problems[s], i);
}

/* The jobs one by one, on arrays of their own. */
static void compute_wanted(void) {
  uint64_t id[ARRAYS];
  for (int a = 0; a < ARRAYS; a++) {
    wanted[a] = malloc((size_t)bytes[a]);
    assert_non_null(wanted[a]);
    if (a < GIVEN) values[a] = test_engine_values(bytes[a] / 4, a + 1);
    id[a] = test_engine_bytes(&engine, a < GIVEN ? values[a] : wanted[a], bytes[a]);
  }
  for (int s = 0; s < STEPS; s++) {
    for (int i = 0; i < cvy_problem_inputs(&problems[s]); i++) jobs[s].in[i].id = id[reads[s][i]];
    for (int i = 0; i < cvy_problem_outputs(&problems[s]); i++) jobs[s].out[i].id = id[makes[s][i]];
    assert_int_equal(command_run(engine.backend, engine.device, &jobs[s], NULL), CONVOY_OK);
  }
  for (int a = 0; a < ARRAYS; a++) {
    assert_int_equal(command_read(engine.backend, engine.device, id[a], wanted[a], bytes[a]),
                     CONVOY_OK);
    command_release(engine.backend, engine.device, id[a]);
  }
}

static int begin(void **state) {
  (void)state;
  for (int s = 0; s < STEPS; s++) {
    if (!cvy_problem_read(texts[s], &problems[s])) return -1;
    find_row(&problems[s], &jobs[s]);
    note_bytes(s);
  }
  compute_wanted();
  return 0;
}

static int finish(void **state) {
  (void)state;
  for (int a = 0; a < ARRAYS; a++) free(wanted[a]);
  for (int a = 0; a < GIVEN; a++) free(values[a]);
  return 0;
}

static int reset(void **state) {
  (void)state;
  bool emptied = false;
  return (int)command_clear(engine.backend, engine.device, &emptied);
}

/* ------------------------------------------------------------------------------------- a plan */

/* Given arrays are bases of their own; what is made lies one behind the other in the last base. */
enum { MADE = GIVEN, BASES };

static int64_t aligned(int64_t count) {
  return (count + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t place_of(int array) {
  int64_t at = 0;
  for (int a = GIVEN; a < array; a++) at += aligned(bytes[a]);
  return at;
}

static cvy_operand operand(int array) {
  return array < GIVEN ? cvy_place(array, 0) : cvy_place(MADE, place_of(array));
}

static uint64_t make_plan(void) {
  uint64_t plan = ++last_plan;
  for (int s = 0; s < STEPS; s++) {
    cvy_job job = jobs[s];
    for (int i = 0; i < cvy_problem_inputs(&problems[s]); i++) job.in[i] = operand(reads[s][i]);
    for (int i = 0; i < cvy_problem_outputs(&problems[s]); i++) job.out[i] = operand(makes[s][i]);
    assert_int_equal(command_plan_job(engine.backend, engine.device, plan, &job), CONVOY_OK);
  }
  return plan;
}

/* Arrays for the bases, which begin `ahead` bytes behind the arrays' beginnings. */
typedef struct bound {
  uint64_t id[BASES];
  cvy_base base[BASES];
} bound;

static bound bind(uint64_t plan, int64_t ahead, bool constant) {
  const cvy_backend *b = engine.backend;
  bound all;
  for (int i = 0; i < BASES; i++) {
    int64_t count = ahead + (i < GIVEN ? bytes[i] : place_of(ARRAYS));
    char *content = malloc((size_t)count);
    assert_non_null(content);
    memset(content, 0xff, (size_t)count);
    if (i < GIVEN) memcpy(content + ahead, values[i], (size_t)bytes[i]);
    all.id[i] = test_engine_bytes(&engine, content, count);
    all.base[i] = (cvy_base){all.id[i], ahead, constant && i < GIVEN, 0};
    free(content);
  }
  assert_int_equal(command_plan_bind(b, engine.device, plan, 0, BASES, all.base), CONVOY_OK);
  return all;
}

static void release(const bound *all) {
  for (int i = 0; i < BASES; i++) command_release(engine.backend, engine.device, all->id[i]);
}

static void expect_made(const bound *all) {
  int64_t count = all->base[MADE].at + place_of(ARRAYS);
  char *made = malloc((size_t)count);
  assert_non_null(made);
  assert_int_equal(command_read(engine.backend, engine.device, all->id[MADE], made, count),
                   CONVOY_OK);
  for (int a = GIVEN; a < ARRAYS; a++)
    assert_memory_equal(made + all->base[MADE].at + place_of(a), wanted[a], (size_t)bytes[a]);
  free(made);
}

static void run(uint64_t plan, uint64_t number) {
  uint64_t ticket = 0, fault;
  assert_int_equal(command_plan_run(engine.backend, engine.device, plan, number, &ticket),
                   CONVOY_OK);
  assert_int_equal(engine.backend->wait(engine.device, ticket, NULL, &fault), CONVOY_OK);
}

static void a_run_makes_the_jobs_bits(void **state) {
  static const int64_t begins[] = {0, ALIGN, 17 * ALIGN, 0};
  (void)state;
  uint64_t plan = make_plan();
  for (int constant = 0; constant < 2; constant++)
    for (size_t i = 0; i < CVY_COUNT(begins); i++) {
      bound all = bind(plan, begins[i], constant);
      for (uint64_t k = 0; k < 3; k++) {
        run(plan, k);
        expect_made(&all);
      }
      release(&all);
    }
  command_plan_drop(engine.backend, engine.device, plan);
}

/* Weights that are said to stay are packed once; others that are bound are packed anew. */
static void what_is_bound_anew_is_read_anew(void **state) {
  const cvy_backend *b = engine.backend;
  (void)state;
  uint64_t plan = make_plan();
  bound all = bind(plan, 0, true);
  run(plan, 0);
  run(plan, 1);
  expect_made(&all);
  float *zeros = calloc(1, (size_t)bytes[W]);
  uint64_t other = test_engine_bytes(&engine, zeros, bytes[W]);
  const cvy_base to = {other, 0, 1, 0};
  assert_int_equal(command_plan_bind(b, engine.device, plan, W, 1, &to), CONVOY_OK);
  for (uint64_t k = 0; k < 3; k++) run(plan, k);
  float *y = malloc((size_t)place_of(ARRAYS));
  assert_int_equal(command_read(b, engine.device, all.id[MADE], y, bytes[Y]), CONVOY_OK);
  for (int64_t i = 0; i < bytes[Y] / 4; i++) assert_true(y[i] == 0);
  assert_int_equal(command_plan_bind(b, engine.device, plan, W, 1, &all.base[W]), CONVOY_OK);
  run(plan, 9);
  expect_made(&all);
  free(zeros);
  free(y);
  command_release(b, engine.device, other);
  release(&all);
  command_plan_drop(b, engine.device, plan);
}

static void copies_and_taps_are_where_they_were_asked_for(void **state) {
  const cvy_backend *b = engine.backend;
  (void)state;
  uint64_t plan = make_plan();
  int64_t image = bytes[Z] / N, map = image / K;
  /* Over what step 0 has made, when all are done. */
  const cvy_command copy = {CVY_PLAN_COPY, .plan_copy = {plan, operand(DW), operand(Y), bytes[DW]}};
  assert_int_equal(command_give(b, engine.device, copy, NULL), CONVOY_OK);
  bound all = bind(plan, ALIGN, false);
  uint64_t to = test_engine_bytes(&engine, wanted[Z], bytes[Z]);
  /* Of step 1 channel 3 of each image, before and after. */
  const cvy_tap taps[] = {
      {.from = operand(Y), .offset = 3 * map, .bytes = map, .stride = image, .count = N},
      {.from = operand(Z),
       .offset = 3 * map,
       .bytes = map,
       .stride = image,
       .to = N * map,
       .count = N,
       .after = 1},
  };
  const cvy_command tap = {CVY_PLAN_TAP, .plan_tap = {plan, to, 1, 2}, .taps = taps};
  assert_int_equal(command_give(b, engine.device, tap, NULL), CONVOY_OK);
  run(plan, 0);
  float *got = malloc((size_t)bytes[Z]);
  assert_int_equal(command_read(b, engine.device, to, got, 2 * N * map), CONVOY_OK);
  for (int n = 0; n < N; n++) {
    assert_memory_equal((char *)got + n * map, (char *)wanted[Y] + n * image + 3 * map, map);
    assert_memory_equal((char *)got + (N + n) * map, (char *)wanted[Z] + n * image + 3 * map, map);
  }
  float *made = malloc((size_t)(ALIGN + bytes[DW]));
  assert_int_equal(command_read(b, engine.device, all.id[MADE], made, ALIGN + bytes[DW]),
                   CONVOY_OK);
  assert_memory_equal((char *)made + ALIGN, wanted[DW], bytes[DW]);
  /* The next run taps nothing. */
  assert_int_equal(command_zero(b, engine.device, to, bytes[Z], NULL), CONVOY_OK);
  run(plan, 1);
  assert_int_equal(command_read(b, engine.device, to, got, 4), CONVOY_OK);
  assert_true(got[0] == 0);
  free(got);
  free(made);
  command_release(b, engine.device, to);
  release(&all);
  command_plan_drop(b, engine.device, plan);
}

/* ------------------------------------------------------------------------------------- faults */

static void a_fault_is_a_steps(void **state) {
  const cvy_backend *b = engine.backend;
  (void)state;
  uint64_t plan = make_plan(), first = 0, ticket = 0, fault = 0;
  bool emptied = false;
  bound all = bind(plan, 0, false);
  assert_int_equal(command_zero(b, engine.device, all.id[X], 4, &first), CONVOY_OK);
  assert_int_equal(
      command_transfer(b, engine.device, CVY_WRITE, all.id[X], 0, values[X], bytes[X], &first),
      CONVOY_OK);
  command_release(b, engine.device, all.id[FC]); /* which step 5 reads */
  assert_int_equal(command_plan_run(b, engine.device, plan, 0, &ticket), CONVOY_ERR_ARGUMENT);
  assert_int_equal(ticket, first + STEPS);
  assert_int_equal(b->wait(engine.device, ticket, NULL, &fault), CONVOY_ERR_ARGUMENT);
  assert_int_equal(b->plan_step(engine.device, fault), 0); /* nothing begins with a base missing */
  assert_int_equal(command_clear(b, engine.device, &emptied), CONVOY_OK);
  /* An array that is too small for its last step. */
  all.id[FC] = test_engine_bytes(&engine, values[FC], ALIGN);
  const cvy_base to = {all.id[FC], 0, 0, 0};
  assert_int_equal(command_plan_bind(b, engine.device, plan, FC, 1, &to), CONVOY_OK);
  assert_int_equal(command_plan_run(b, engine.device, plan, 0, &ticket), CONVOY_ERR_ARGUMENT);
  assert_int_equal(b->wait(engine.device, ticket, NULL, &fault), CONVOY_ERR_ARGUMENT);
  assert_int_equal(b->plan_step(engine.device, fault), 5);
  assert_int_equal(fault, ticket);
  assert_non_null(strstr(engine.module->last_error(), "a step needs"));
  assert_int_equal(command_clear(b, engine.device, &emptied), CONVOY_OK);
  assert_int_equal(b->plan_step(engine.device, ticket + 1), -1);
  release(&all);
  assert_int_equal(command_plan_run(b, engine.device, ++last_plan, 0, NULL), CONVOY_ERR_ARGUMENT);
  command_plan_drop(b, engine.device, plan);
}

/* ------------------------------------------------------------------------------------- parts */

static void parts_keep_their_memory(void **state) {
  const cvy_backend *b = engine.backend;
  float got[64];
  (void)state;
  float *ramp = malloc(4 * ALIGN);
  for (int i = 0; i < ALIGN; i++) ramp[i] = (float)i;
  uint64_t whole = test_engine_bytes(&engine, ramp, 4 * ALIGN);
  uint64_t part = ++engine.last_id, second = ++engine.last_id;
  assert_int_equal(command_part(b, engine.device, part, whole, ALIGN, ALIGN), CONVOY_OK);
  assert_int_equal(command_part(b, engine.device, second, part, 0, 8), CONVOY_OK);
  command_release(b, engine.device, whole);
  command_release(b, engine.device, part);
  /* What comes next does not get the memory. */
  uint64_t other = test_engine_bytes(&engine, wanted[Y], 4 * ALIGN);
  assert_int_equal(command_read(b, engine.device, second, got, 8), CONVOY_OK);
  assert_true(got[0] == ALIGN / 4 && got[1] == ALIGN / 4 + 1);
  command_release(b, engine.device, second);
  command_release(b, engine.device, other);
  cvy_usage usage;
  b->usage(engine.device, &usage);
  free(ramp);
  bool emptied = false;
  uint64_t tiny = test_engine_bytes(&engine, got, 16);
  assert_int_equal(command_part(b, engine.device, ++engine.last_id, tiny, 4, 8),
                   CONVOY_ERR_ARGUMENT);
  assert_int_equal(command_clear(b, engine.device, &emptied), CONVOY_OK);
  assert_int_equal(command_part(b, engine.device, ++engine.last_id, tiny, 0, 32),
                   CONVOY_ERR_ARGUMENT);
  assert_int_equal(command_clear(b, engine.device, &emptied), CONVOY_OK);
  command_release(b, engine.device, tiny);
}

/* Everything is given back. */
static void nothing_is_left(void **state) {
  (void)state;
  cvy_usage usage;
  engine.backend->usage(engine.device, &usage);
  assert_int_equal(usage.bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_run_makes_the_jobs_bits, reset),
      cmocka_unit_test_setup(what_is_bound_anew_is_read_anew, reset),
      cmocka_unit_test_setup(copies_and_taps_are_where_they_were_asked_for, reset),
      cmocka_unit_test_setup(a_fault_is_a_steps, reset),
      cmocka_unit_test_setup(parts_keep_their_memory, reset),
      cmocka_unit_test_setup(nothing_is_left, reset),
  };
  int skipped = test_engine_open(&engine, INT64_C(64) << 20);
  if (skipped) return skipped;
  int failed = cmocka_run_group_tests(tests, begin, finish);
  test_engine_close(&engine);
  return failed;
}
