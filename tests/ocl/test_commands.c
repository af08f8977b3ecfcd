/* The engine's commands on arrays: order, tickets, faults and their clearing, memory. */
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "engine.h"
#include "problem/conv/conv.h"

static test_engine engine;

#define COUNT 1000
static float ramp[COUNT], got[COUNT];
static bool emptied;

static int reset(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; i++) ramp[i] = (float)i;
  memset(got, 0xff, sizeof got);
  return (int)command_clear(engine.backend, engine.device, &emptied);
}

static void drop(uint64_t id) {
  assert_int_equal(command_release(engine.backend, engine.device, id), CONVOY_OK);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  uint64_t id = test_engine_array(&engine, ramp, COUNT);
  assert_int_equal(command_read(engine.backend, engine.device, id, got, sizeof got), CONVOY_OK);
  assert_memory_equal(ramp, got, sizeof got);
  drop(id);
}

/* The source may change as soon as write is back. */
static void a_write_takes_its_copy(void **state) {
  (void)state;
  static float changing[COUNT];
  uint64_t ids[20];
  for (int i = 0; i < 20; i++) {
    for (int j = 0; j < COUNT; j++) changing[j] = (float)i;
    ids[i] = test_engine_array(&engine, changing, COUNT);
  }
  for (int i = 0; i < 20; i++) {
    command_read(engine.backend, engine.device, ids[i], got, sizeof got);
    for (int j = 0; j < COUNT; j++) assert_true(got[j] == (float)i);
    drop(ids[i]);
  }
}

static uint64_t seen_ticket;

static cvy_phase keep_phase(void *user, cvy_phase phase) {
  (void)user;
  return phase;
}

static void note_progress(void *user, uint64_t ticket) {
  (void)user;
  seen_ticket = ticket;
}

static void ignore_first_run(void *user) {
  (void)user;
}

static convoy_status move_part(cvy_command_kind kind, uint64_t id, int64_t at, const void *memory,
                               int64_t bytes, uint64_t *ticket) {
  return command_transfer(engine.backend, engine.device, kind, id, at, memory, bytes, ticket);
}

/* Parts go out and come back in the order of their commands, each of which tells its end. */
static void parts_are_commands_like_others(void **state) {
  (void)state;
  enum { PARTS = 4, EACH = COUNT / PARTS };
  const int64_t bytes = EACH * (int64_t)sizeof(float);
  cvy_engine_observer observer = {NULL, keep_phase, note_progress, ignore_first_run};
  uint64_t id = test_engine_array(&engine, got, COUNT), written = 0, read = 0, later = 0;
  for (int i = 0; i < PARTS; i++)
    assert_int_equal(move_part(CVY_WRITE, id, i * bytes, ramp + i * EACH, bytes, &written),
                     CONVOY_OK);
  for (int i = 0; i < PARTS; i++)
    assert_int_equal(move_part(CVY_READ, id, i * bytes, got + i * EACH, bytes, &read), CONVOY_OK);
  assert_int_equal(command_zero(engine.backend, engine.device, id, sizeof ramp, &later), CONVOY_OK);
  assert_true(written < read && read < later);
  engine.module->set_observer(&observer);
  seen_ticket = 0;
  assert_int_equal(engine.backend->wait(engine.device, read, NULL, NULL), CONVOY_OK);
  engine.module->set_observer(NULL);
  assert_true(seen_ticket >= read);
  assert_memory_equal(got, ramp, sizeof ramp);
  drop(id);
}

static void parts_beyond_an_array_are_refused(void **state) {
  (void)state;
  uint64_t id = test_engine_array(&engine, ramp, COUNT), ticket = 0;
  assert_int_equal(move_part(CVY_READ, id, 8, got, sizeof got, &ticket), CONVOY_ERR_ARGUMENT);
  assert_int_equal(engine.backend->wait(engine.device, ticket, NULL, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(command_clear(engine.backend, engine.device, &emptied), CONVOY_OK);
  assert_int_equal(command_read(engine.backend, engine.device, id, got, sizeof got), CONVOY_OK);
  assert_memory_equal(got, ramp, sizeof ramp);
  drop(id);
}

/* It is seen without a wait that the device is done. */
static void looking_shows_the_end(void **state) {
  (void)state;
  cvy_engine_observer observer = {NULL, keep_phase, note_progress, ignore_first_run};
  uint64_t id = test_engine_array(&engine, ramp, COUNT);
  uint64_t ticket = 0;
  assert_int_equal(command_zero(engine.backend, engine.device, id, sizeof ramp, &ticket),
                   CONVOY_OK);
  engine.module->set_observer(&observer);
  seen_ticket = 0;
  for (int i = 0; i < 5000 && engine.backend->poll(engine.device); i++)
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  assert_false(engine.backend->poll(engine.device));
  engine.module->set_observer(NULL);
  assert_int_equal(seen_ticket, ticket);
  drop(id);
}

static void commands_happen_in_order(void **state) {
  (void)state;
  const cvy_backend *b = engine.backend;
  uint64_t first = test_engine_array(&engine, ramp, COUNT);
  uint64_t second = test_engine_array(&engine, ramp, COUNT);
  uint64_t before = 0, after = 0;
  assert_int_equal(command_zero(b, engine.device, second, 400, &before), CONVOY_OK);
  assert_int_equal(command_copy(b, engine.device, second, first, 800, &after), CONVOY_OK);
  assert_int_equal(after, before + 1);
  drop(second);
  assert_int_equal(command_read(b, engine.device, first, got, sizeof got), CONVOY_OK);
  for (int i = 0; i < COUNT; i++) assert_true(got[i] == (i < 100 ? 0 : (float)i));
  drop(first);
}

static void a_fault_stops_what_follows_until_cleared(void **state) {
  (void)state;
  const cvy_backend *b = engine.backend;
  uint64_t id = test_engine_array(&engine, ramp, COUNT);
  uint64_t good = 0, bad = 0, later = 0, fault = 0;
  assert_int_equal(command_zero(b, engine.device, id, 4, &good), CONVOY_OK);
  assert_int_equal(command_zero(b, engine.device, 999999, 4, &bad), CONVOY_ERR_ARGUMENT);
  assert_int_equal(command_zero(b, engine.device, id, 400, &later), CONVOY_ERR_ARGUMENT);
  assert_true(good < bad && bad < later);
  assert_false(engine.backend->poll(engine.device)); /* a faulted device does nothing more */
  assert_int_equal(b->wait(engine.device, good, NULL, &fault), CONVOY_OK);
  assert_int_equal(b->wait(engine.device, later, NULL, &fault), CONVOY_ERR_ARGUMENT);
  assert_int_equal(fault, bad);
  assert_non_null(strstr(engine.module->last_error(), "999999"));
  assert_int_equal(command_read(b, engine.device, id, got, sizeof got), CONVOY_ERR_ARGUMENT);
  assert_int_equal(command_clear(b, engine.device, &emptied), CONVOY_OK);
  assert_int_equal(b->wait(engine.device, later, NULL, &fault), CONVOY_OK);
  assert_int_equal(command_read(b, engine.device, id, got, sizeof got), CONVOY_OK);
  assert_true(got[0] == 0 && got[1] == 1 && got[99] == 99);
  drop(id);
}

static void memory_that_is_not_there_is_a_fault_with_numbers(void **state) {
  (void)state;
  const cvy_backend *b = engine.backend;
  assert_int_equal(command_allocate(b, engine.device, 123456, INT64_C(1) << 60, NULL),
                   CONVOY_ERR_MEMORY);
  assert_non_null(strstr(engine.module->last_error(), "1152921504606846976"));
  assert_int_equal(command_release(b, engine.device, 123456), CONVOY_OK); /* as backend.h says */
}

static void an_interrupted_wait_says_so(void **state) {
  (void)state;
  const cvy_backend *b = engine.backend;
  uint64_t ticket = 0, fault = 0;
  uint64_t id = test_engine_array(&engine, ramp, COUNT);
  volatile int interrupt = 1;
  command_zero(b, engine.device, id, 4, &ticket);
  convoy_status status = b->wait(engine.device, ticket, &interrupt, &fault);
  assert_true(status == CONVOY_ERR_INTERRUPTED || status == CONVOY_OK);
  interrupt = 0;
  assert_int_equal(b->wait(engine.device, ticket, &interrupt, &fault), CONVOY_OK);
  drop(id);
}

static cvy_problem small_problem(void) {
  convoy_conv conv;
  int64_t x_shape[5], w_shape[5];
  convoy_direction direction;
  cvy_problem problem;
  assert_int_equal(
      cvy_parse_problem("n1c4h6w5 k4r2s3 forward", &conv, x_shape, w_shape, &direction), 0);
  assert_int_equal(cvy_conv_make(&conv, direction, x_shape, w_shape, 0, false, NULL, &problem), 0);
  return problem;
}

/* A job may name a row that is not there, or parameters that no kernel would compile with. */
static void jobs_are_checked_again(void **state) {
  (void)state;
  cvy_problem problem = small_problem();
  cvy_params wrong = {{7, 13, 3, 5, 1}};
  assert_int_equal(test_engine_run(&engine, &problem, 77, &wrong, ramp, ramp, NULL, got),
                   CONVOY_ERR_UNSUPPORTED);
  reset(NULL);
  assert_non_null(engine.backend->algorithms[0]->valid);
  assert_int_equal(test_engine_run(&engine, &problem, 0, &wrong, ramp, ramp, NULL, got),
                   CONVOY_ERR_UNSUPPORTED);
}

static void peaks_are_measured(void **state) {
  (void)state;
  cvy_reply reply;
  assert_int_equal(command_peak(engine.backend, engine.device, &reply), CONVOY_OK);
  assert_true(reply.gflops > 0.1 && reply.gflops < 1e6);
  assert_true(reply.gigabytes > 0.1 && reply.gigabytes < 1e5);
  print_message("peak: %.1f GFLOP/s, %.1f GB/s\n", reply.gflops, reply.gigabytes);
}

static void nothing_is_left(void **state) {
  (void)state;
  cvy_usage usage;
  engine.backend->usage(engine.device, &usage);
  assert_int_equal(usage.bytes, 0);
}

int main(void) {
  int ready = test_engine_open(&engine, INT64_C(64) << 20);
  if (ready) return ready;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_is_written_is_read, reset),
      cmocka_unit_test_setup(a_write_takes_its_copy, reset),
      cmocka_unit_test_setup(parts_are_commands_like_others, reset),
      cmocka_unit_test_setup(parts_beyond_an_array_are_refused, reset),
      cmocka_unit_test_setup(looking_shows_the_end, reset),
      cmocka_unit_test_setup(commands_happen_in_order, reset),
      cmocka_unit_test_setup(a_fault_stops_what_follows_until_cleared, reset),
      cmocka_unit_test_setup(memory_that_is_not_there_is_a_fault_with_numbers, reset),
      cmocka_unit_test_setup(an_interrupted_wait_says_so, reset),
      cmocka_unit_test_setup(jobs_are_checked_again, reset),
      cmocka_unit_test_setup(peaks_are_measured, reset),
      cmocka_unit_test_setup(nothing_is_left, reset),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  return failed;
}
