/* Programs and reductions on a device that fails, forgets and has too little memory: they take the
 * way of every other operation, and results have the same bits. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/forks.h"
#include "core/fake.h"
#include "core/open.h"

enum { W = 60, CHANNELS = 4 };
static const int64_t full_shape[] = {2, CHANNELS, W}, channel_shape[] = {1, CHANNELS, 1};

static int reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  fake_reset();
  return 0;
}

/* ------------------------------------------------------------------------------ training step */

/* Dropout, batch norm with SiLU, and an optimizer that overwrites its operands. */
enum { X, KEEP, Y, MEAN, VARIANCE, GAMMA, EPSILON, DEVIATION, SCALE, Z, RATE, V, TENSORS };
typedef struct training {
  convoy_context *context;
  convoy_tensor *tensor[TENSORS];
} training;

typedef struct call {
  const char *text;
  int8_t operand[7];
} call;
static const call calls[] = {
    {"y = random(0) < keep ? x / keep : 0", {KEEP, X, Y}},
    {"mean = mean over n w of y; variance = variance over n w of y", {Y, MEAN, VARIANCE}},
    {"deviation = rsqrt(variance + epsilon); scale = gamma * deviation",
     {VARIANCE, EPSILON, GAMMA, DEVIATION, SCALE}},
    {"let t = (y - mean) * scale; z = t * sigmoid(t)", {Y, MEAN, SCALE, Z}},
    {"v = 0.5 * v + z; x = x - rate * v", {V, Z, X, RATE, V, X}},
};

static int64_t count_of(int which) {
  return which == KEEP || which == EPSILON || which == RATE ? 1
         : (which >= MEAN && which <= SCALE)                ? CHANNELS
                                                            : 2 * CHANNELS * W;
}

static training open_training(const char *device) {
  static const int64_t one[] = {1, 1, 1};
  training all = {.context = open_verified(device, CONVOY_VERIFY_SAMPLE, CONVOY_ON)};
  assert_int_equal(convoy_seed(all.context, 5), CONVOY_OK);
  for (int t = 0; t < TENSORS; t++) {
    int64_t count = count_of(t);
    float values[2 * CHANNELS * W];
    for (int64_t i = 0; i < count; i++) values[i] = 0.7f + 0.1f * (float)(i % 13);
    all.tensor[t] = tensor_of(all.context,
                              count == 1          ? one
                              : count == CHANNELS ? channel_shape
                                                  : full_shape,
                              values);
  }
  return all;
}

static void train(const training *all, bool commits) {
  for (size_t i = 0; i < CVY_COUNT(calls); i++) {
    convoy_program *program = program_of(calls[i].text);
    convoy_tensor *operand[7];
    for (int k = 0; k < 7; k++) operand[k] = all->tensor[calls[i].operand[k]];
    if (apply_to(all->context, program, operand, NULL))
      fail_msg("%s: %s", calls[i].text, convoy_last_error());
    convoy_program_free(program);
  }
  if (commits) assert_int_equal(convoy_commit(all->tensor[X]), CONVOY_OK);
}

static void close_training(const training *all) {
  for (int t = 0; t < TENSORS; t++) convoy_tensor_free(all->tensor[t]);
  convoy_close(all->context);
}

typedef float trained[TENSORS][2 * CHANNELS * W];

static bool read_training(const training *all, trained values) {
  memset(values, 0, sizeof(trained));
  for (int t = TENSORS - 1; t >= 0; t--) {
    if (convoy_tensor_read(all->tensor[t], values[t], count_of(t))) return false;
  }
  return true;
}

static trained expected, found;
enum { ROUNDS = 3 };

static int expect_training(void **state) {
  reset(state);
  training all = open_training("cpu");
  for (int i = 0; i < ROUNDS; i++) train(&all, false);
  assert_true(read_training(&all, expected));
  close_training(&all);
  return 0;
}

/* Any command fails, the device empty afterwards or not, gone for good or not: the same bits, of
 * random numbers too. */
static void lost_results_are_computed_anew(void **state) {
  (void)state;
  int64_t commands = 1;
  for (int64_t fail_at = 1; fail_at <= commands; fail_at++) {
    for (int how = 0; how < 8; how++) {
      fake_reset();
      training all = open_training("fake");
      fake.fail_at = fail_at;
      fake.empties = how & 1;
      fake.dies = how & 2;
      for (int i = 0; i < ROUNDS; i++) train(&all, how & 4);
      assert_true(read_training(&all, found));
      assert_memory_equal(found, expected, sizeof found);
      if (fake_seen.commands > commands) commands = fake_seen.commands;
      assert_int_equal(health_of(all.context).faults, fake_seen.commands >= fail_at);
      assert_int_equal(health_of(all.context).history_bytes, 0);
      close_training(&all);
      assert_int_equal(fake_seen.arrays, 0);
    }
  }
  assert_true(commands > 20);
}

/* A child made by fork() computes anew what only the device has; so does the parent after it. */
static void children_compute_the_same(void **state) {
  (void)state;
  training all = open_training("fake");
  train(&all, false);
  train(&all, true);
  pid_t child = fork();
  if (child == 0) {
    train(&all, false);
    _exit(read_training(&all, found) && !memcmp(found, expected, sizeof found) ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  train(&all, false);
  assert_true(read_training(&all, found));
  assert_memory_equal(found, expected, sizeof found);
  assert_int_equal(health_of(all.context).faults, 0);
  close_training(&all);
}

/* ---------------------------------------------------------------------------------- memory */

static char told_of_memory[256];

static void keep_downgrade(void *user, const convoy_event *event) {
  (void)user;
  if (event->kind == CONVOY_EVENT_DOWNGRADE) strcpy(told_of_memory, event->message);
}

static void run_with(int64_t capacity, const char *text, const int64_t *y_shape, convoy_run *run) {
  const int64_t shape[] = {8, CHANNELS, W};
  float x[8 * CHANNELS * W], y[2][8 * CHANNELS * W];
  int64_t count = y_shape[0] * y_shape[1] * y_shape[2];
  for (size_t i = 0; i < CVY_COUNT(x); i++) x[i] = 0.3f * (float)(i * 29 % 31) - 4.0f;
  for (int fakes = 0; fakes < 2; fakes++) {
    fake_reset();
    convoy_context *context = open_named(fakes ? "fake" : "cpu", CONVOY_ON);
    convoy_set_event_callback(context, keep_downgrade, NULL);
    convoy_program *program = program_of(text);
    convoy_tensor *all[] = {tensor_of(context, shape, x), tensor_of(context, y_shape, NULL)};
    fake.capacity = capacity;
    told_of_memory[0] = '\0';
    assert_int_equal(apply_to(context, program, all, run), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(all[1], y[fakes], count), CONVOY_OK);
    convoy_tensor_free(all[0]);
    convoy_tensor_free(all[1]);
    convoy_program_free(program);
    convoy_close(context);
  }
  assert_memory_equal(y[0], y[1], (size_t)count * sizeof(float));
}

/* Where images are apart, in pieces; what is over them, by the CPU. */
static void little_memory_suffices(void **state) {
  (void)state;
  static const int64_t whole[] = {8, CHANNELS, W}, rows[] = {8, CHANNELS, 1};
  static const int64_t image = CHANNELS * W * (int64_t)sizeof(float);
  convoy_run run = CONVOY_RUN_INIT;
  run_with(5 * image, "y = x * sigmoid(x)", whole, &run);
  assert_string_equal(run.device, "fake:1");
  assert_int_equal(run.first_fault, CONVOY_ERR_MEMORY);
  check_says(told_of_memory, "in 4 pieces");
  run_with(5 * image, "v = variance over w of x", rows, &run);
  assert_string_equal(run.device, "fake:1");
  check_says(told_of_memory, "in 2 pieces");
  run_with(5 * image, "v = variance over n w of x", channel_shape, &run);
  assert_string_equal(run.device, "cpu");
  assert_int_equal(run.first_fault, CONVOY_ERR_MEMORY);
  run_with(5 * image, "y = x * index(n)", whole, &run);
  assert_string_equal(run.device, "cpu");
}

int main(void) {
  start_no_threads();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lost_results_are_computed_anew, expect_training),
      cmocka_unit_test_setup(children_compute_the_same, expect_training),
      cmocka_unit_test_setup(little_memory_suffices, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
