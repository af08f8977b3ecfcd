/* What sampling may cost: whatever operations and looked-at elements take, the time counted inside
 * verification stays below 1 % of the time that passes. Time is the test's own. */
#include <stdlib.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/verify/check.h"

enum { WIDTH = 1001, OPERATIONS = 8000 };

static double now = 1000, element_seconds;
static int64_t elements;

double __wrap_cvy_clock(void);
double __wrap_cvy_clock(void) {
  return now;
}

bool __real_cvy_check_samples(const cvy_claim *claim, const cvy_samples *samples,
                              cvy_mismatch *out);
bool __wrap_cvy_check_samples(const cvy_claim *claim, const cvy_samples *samples,
                              cvy_mismatch *out);
bool __wrap_cvy_check_samples(const cvy_claim *claim, const cvy_samples *samples,
                              cvy_mismatch *out) {
  elements += samples->count;
  now += element_seconds * samples->count;
  return __real_cvy_check_samples(claim, samples, out);
}

/* A result that is looked at wholly. */
static double flop_seconds;
static int64_t whole_ones;

convoy_status __real_cvy_check_whole(cvy_chooser *chooser, const cvy_engine *cpu,
                                     const cvy_claim *claim, bool *right, cvy_mismatch *out);
convoy_status __wrap_cvy_check_whole(cvy_chooser *chooser, const cvy_engine *cpu,
                                     const cvy_claim *claim, bool *right, cvy_mismatch *out);
convoy_status __wrap_cvy_check_whole(cvy_chooser *chooser, const cvy_engine *cpu,
                                     const cvy_claim *claim, bool *right, cvy_mismatch *out) {
  whole_ones++;
  now += flop_seconds * cvy_problem_flops(claim->problem);
  return __real_cvy_check_whole(chooser, cpu, claim, right, out);
}

static test_random dice;

/* From half to one and a half times the mean. */
static double about(double mean) {
  return mean * (double)test_between(&dice, 500, 1500) / 1000;
}

static double operation_seconds;

static void pass(const cvy_job *job) {
  (void)job;
  now += about(operation_seconds);
}

static void operate(convoy_context *context) {
  static const float w[] = {3, 5};
  static float x[WIDTH], y[WIDTH];
  const int64_t x_shape[] = {1, 1, WIDTH}, w_shape[] = {1, 1, 2};
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  for (int i = 0; i < WIDTH; i++) x[i] = (float)(1 + i % 7);
  assert_int_equal(convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL),
                   CONVOY_OK);
}

static convoy_context *open_sampling(void) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake";
  options.tune = CONVOY_NO;
  options.threads = 1;
  options.verify = CONVOY_VERIFY_SAMPLE;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

/* One element takes `share` of an operation's time. Gives the share of the time that verification
 * takes, and the elements looked at per operation. */
static double share_of(double share, double seconds, double *per_operation) {
  fake_reset();
  fake.on_run = pass;
  convoy_context *context = open_sampling();
  operation_seconds = seconds;
  element_seconds = share * seconds;
  operate(context); /* the first use */
  const double start = now;
  const int64_t spent = health_of(context).verify_nanoseconds;
  elements = 0;
  for (int i = 0; i < OPERATIONS; i++) operate(context);
  const double counted = 1e-9 * (double)(health_of(context).verify_nanoseconds - spent);
  *per_operation = (double)elements / OPERATIONS;
  convoy_close(context);
  return counted / (now - start);
}

/* From elements that cost next to nothing to those of which four, every sixteenth time, are all
 * that the budget allows. */
static void test_below_one_percent(void **state) {
  static const double shares[] = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2};
  static const double seconds[] = {1e-4, 3e-3, 0.1};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(shares); i++) {
    for (size_t j = 0; j < CVY_COUNT(seconds); j++) {
      double per_operation;
      const double share = share_of(shares[i], seconds[j], &per_operation);
      print_message("an element is %.3f %% of %g s: %.3f %% for %.2f elements per operation\n",
                    1e2 * shares[i], seconds[j], 1e2 * share, per_operation);
      assert_true(share > 0 && share <= 0.01);
      assert_true(per_operation >= 4.0 / 16 * 0.8); /* what the promise on lies needs */
    }
  }
}

/* Cheap elements are looked at in every operation. */
static void test_spends_what_it_may(void **state) {
  double per_operation;
  (void)state;
  share_of(1e-4, 1e-3, &per_operation);
  assert_true(per_operation > 3.9);
}

/* A program that waits for something else meanwhile leaves verification more. */
static void test_time_outside_counts(void **state) {
  (void)state;
  fake_reset();
  fake.on_run = pass;
  convoy_context *context = open_sampling();
  operation_seconds = 1e-3;
  element_seconds = 1e-4;
  operate(context);
  elements = 0;
  for (int i = 0; i < 2000; i++) {
    operate(context);
    now += 0.2;
  }
  assert_true(elements > 3 * 2000);
  convoy_close(context);
}

/* Sums of 100,000 numbers that the host has: one element costs more than the budget of many
 * operations. Whether they are right is looked at all the same, less often, and by the CPU engine,
 * which sums all channels sooner than the definition makes one. */
enum { CHANNELS = 8, LENGTH = 100000, SUMS = 1500 };

static double share_of_sums(float value, double seconds) {
  static float x[CHANNELS * LENGTH];
  const int64_t x_shape[] = {1, CHANNELS, LENGTH}, s_shape[] = {1, CHANNELS, 1};
  float sums[CHANNELS];
  convoy_program *program;
  fake_reset();
  fake.on_run = pass;
  convoy_context *context = open_sampling();
  for (int64_t i = 0; i < CHANNELS * LENGTH; i++) x[i] = value;
  convoy_tensor *in = tensor_of(context, x_shape, x), *out = tensor_of(context, s_shape, NULL);
  assert_int_equal(convoy_program_parse("s = sum over n w of x", &program), CONVOY_OK);
  operation_seconds = seconds;
  element_seconds = 2.0 * LENGTH * 20e-9; /* of the definition */
  flop_seconds = 1e-9;
  whole_ones = 0;
  double start = now;
  int64_t spent = 0;
  for (int i = 0; i < SUMS; i++) {
    const convoy_tensor *const inputs[] = {in};
    assert_int_equal(convoy_apply(context, program, inputs, &out, NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(out, sums, CHANNELS), CONVOY_OK);
    if (i) continue;
    spent = health_of(context).verify_nanoseconds; /* of the first use, in a process once */
    start = now;
  }
  double counted = 1e-9 * (double)(health_of(context).verify_nanoseconds - spent);
  convoy_program_free(program);
  convoy_tensor_free(in);
  convoy_tensor_free(out);
  convoy_close(context);
  return counted / (now - start);
}

static void test_sums_stay_below_one_percent(void **state) {
  (void)state;
  static const double seconds[] = {1e-4, 1e-3, 0.02};
  for (size_t i = 0; i < CVY_COUNT(seconds); i++) {
    double share = share_of_sums(1.0f, seconds[i]);
    print_message("sums of %d numbers, %g s each: %.3f %%, %lld looked at\n", (int)LENGTH,
                  seconds[i], 1e2 * share, (long long)whole_ones);
    assert_true(share <= 0.01 && whole_ones > 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_below_one_percent),
      cmocka_unit_test(test_spends_what_it_may),
      cmocka_unit_test(test_time_outside_counts),
      cmocka_unit_test(test_sums_stay_below_one_percent),
  };
  dice = (test_random){20260101};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
