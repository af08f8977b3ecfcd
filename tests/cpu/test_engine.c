/* The backend object: it is deterministic, does not read outputs that it may not, keeps limits of
 * the workspace, and its memory stays flat. What the algorithms compute is tested in
 * tests/algos. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/cmocka.h"
#include "cpu/work.h"
#include "problem/conv/conv.h"

static const char *const shapes[] = {
    "n3c5h17w14 k8r3s4 stride2,1 pad1:0,3 dil1,2",
    "n2c12h9w11 k6r3s3 pad1 groups3",
    "n1c3w300 k4s7 pad3",
    "n2c4z5h6w7 k6t2r3s3 stride1,2,1 pad1",
    "n4c32h8w8 k16r1s1",
    "n2c6h12w12 k6r3s3 pad1 groups6",
};
static void run_into(cvy_device *device, cpu_work *w, float *result) {
  assert_int_equal(cpu_run(device, w), CONVOY_OK);
  memcpy(result, w->out.values, (size_t)w->out.count * sizeof *result);
}

typedef void check_fn(cvy_device *device, cpu_work *w);

/* Checks every row that accepts, for every shape and every direction. Returns how many there
 * were. */
static int for_all(cvy_device *device, float beta, check_fn *check) {
  int checked = 0;
  for (size_t s = 0; s < CVY_COUNT(shapes); s++) {
    for (int d = beta == 0 ? 0 : 1; d < CONVOY_DIRECTIONS; d++) {
      for (int row = 0; cvy_backend_cpu.algorithms[row]; row++) {
        cpu_work w = cpu_work_new(shapes[s], d, beta, test_fill_reals);
        if (cpu_choose(device, &w, row)) {
          check(device, &w);
          checked++;
        }
        cpu_work_free(&w);
      }
    }
  }
  return checked;
}

static void check_same_bits(cvy_device *device, cpu_work *w) {
  size_t bytes = (size_t)w->out.count * sizeof(float);
  float *first = malloc(bytes), *second = malloc(bytes);
  run_into(device, w, first);
  for (int i = 0; i < 5; i++) {
    run_into(device, w, second);
    assert_memory_equal(first, second, bytes);
  }
  for (int64_t i = 0; i < w->out.count; i++) assert_false(isnan(first[i]));
  free(first);
  free(second);
}

static void same_bits_and_outputs_not_read(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 5; threads += 2) {
    cvy_device *device = cpu_open(threads, WORKSPACE);
    assert_true(for_all(device, 0, check_same_bits) >= (int)CVY_COUNT(shapes) * CONVOY_DIRECTIONS);
    cvy_backend_cpu.close(device);
  }
}

static void check_adds(cvy_device *device, cpu_work *w) {
  cpu_work fresh = *w;
  float *plain = malloc((size_t)w->out.count * sizeof *plain);
  fresh.job.problem.accumulate = 0;
  run_into(device, &fresh, plain);
  for (int64_t i = 0; i < w->out.count; i++) w->out.values[i] = 3.0f;
  assert_int_equal(command_run(&cvy_backend_cpu, device, &w->job, NULL), CONVOY_OK);
  for (int64_t i = 0; i < w->out.count; i++)
    assert_true(fabsf(w->out.values[i] - (plain[i] + 3.0f)) <= 1e-4f);
  free(plain);
}

static void beta_one_adds(void **state) {
  (void)state;
  cvy_device *device = cpu_open(3, WORKSPACE);
  assert_true(for_all(device, 1, check_adds) > 0);
  cvy_backend_cpu.close(device);
}

/* --------------------------------------------------------------------------------- memory */

static void check_within_limit(cvy_device *device, cpu_work *w) {
  const cvy_algorithm *algorithm = cvy_backend_cpu.algorithms[w->job.algorithm];
  const cvy_facts *facts = cvy_backend_cpu.facts(device);
  cvy_usage usage;
  if (algorithm->workspace) {
    assert_true(algorithm->workspace(&w->job.problem, facts, &w->job.params) <=
                facts->workspace_limit);
  }
  assert_int_equal(command_run(&cvy_backend_cpu, device, &w->job, NULL), CONVOY_OK);
  cvy_backend_cpu.usage(device, &usage);
  assert_true(usage.host_bytes <= facts->workspace_limit);
}

static void tiny_limits_are_kept(void **state) {
  (void)state;
  int before = 0;
  for (int64_t limit = 0; limit <= 1 << 20; limit = limit * 4 + 64) {
    cvy_device *device = cpu_open(2, limit);
    int accepted = for_all(device, 0, check_within_limit);
    assert_true(accepted >= (int)CVY_COUNT(shapes) * CONVOY_DIRECTIONS); /* cpu.direct always */
    assert_true(accepted >= before);
    before = accepted;
    cvy_backend_cpu.close(device);
  }
}

static void check_runs(cvy_device *device, cpu_work *w) {
  assert_int_equal(command_run(&cvy_backend_cpu, device, &w->job, NULL), CONVOY_OK);
}

static void memory_is_flat(void **state) {
  (void)state;
  cvy_usage warm, later;
  cvy_device *device = cpu_open(2, WORKSPACE);
  for_all(device, 0, check_runs);
  cvy_backend_cpu.usage(device, &warm);
  for (int i = 0; i < 3; i++) for_all(device, 0, check_runs);
  cvy_backend_cpu.usage(device, &later);
  assert_int_equal(later.host_bytes, warm.host_bytes);
  cvy_backend_cpu.close(device);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NO_LIMIT_ON_ADDRESSES 1 /* sanitizers reserve terabytes */
#else
#define NO_LIMIT_ON_ADDRESSES 0
#endif

static void exhausted_memory_leaves_the_output(void **state) {
  (void)state;
  if (NO_LIMIT_ON_ADDRESSES || cpu_blas_threads(256) == 1) skip();
  struct rlimit before, none;
  cvy_device *device = cpu_open(256, INT64_C(1) << 40);
  cpu_work w = cpu_work_new("n1c512h40w40 k8r3s3 pad1", CONVOY_FORWARD, 0, test_fill_reals);
  assert_true(cpu_choose_named(device, &w, "cpu.im2col"));
  test_array_seal(&w.out);
  getrlimit(RLIMIT_AS, &before);
  none = (struct rlimit){INT64_C(64) << 20, before.rlim_max};
  setrlimit(RLIMIT_AS, &none);
  convoy_status status = command_run(&cvy_backend_cpu, device, &w.job, NULL);
  setrlimit(RLIMIT_AS, &before);
  assert_int_equal(status, CONVOY_ERR_MEMORY);
  assert_true(test_array_unchanged(&w.out));
  cpu_work_free(&w);
  cvy_backend_cpu.close(device);
}

static void empty_batches_clear_gradients(void **state) {
  (void)state;
  cvy_device *device = cpu_open(2, WORKSPACE);
  for (int d = CONVOY_BACKWARD_WEIGHTS; d <= CONVOY_BACKWARD_BIAS; d++) {
    for (int beta = 0; beta <= 1; beta++) {
      cpu_work w = cpu_work_new("n0c3h5w5 k4r3s3", d, (float)beta, test_fill_reals);
      for (int64_t i = 0; i < w.out.count; i++) w.out.values[i] = 5.0f;
      assert_int_equal(command_run(&cvy_backend_cpu, device, &w.job, NULL), CONVOY_OK);
      for (int64_t i = 0; i < w.out.count; i++) assert_true(w.out.values[i] == 5.0f * (float)beta);
      cpu_work_free(&w);
    }
  }
  cvy_backend_cpu.close(device);
}

/* -------------------------------------------------------------------------------- denormals */

static float half(volatile const float *value) {
  return *value * 0.5f;
}

static void check_denormals(cvy_device *device, cpu_work *w) {
  volatile const float smallest = FLT_MIN;
  for (int64_t i = 0; i < w->a.count; i++) w->a.values[i] = FLT_MIN / 2;
  for (int64_t i = 0; i < w->b.count; i++) w->b.values[i] = 1.0f;
  assert_int_equal(cpu_run(device, w), CONVOY_OK);
#if defined(__SSE2__) || defined(__aarch64__)
  for (int64_t i = 0; i < w->out.count; i++) assert_true(w->out.values[i] == 0);
#endif
  assert_true(half(&smallest) > 0);
}

/* They count as 0 inside a job, in every row, and the caller's arithmetic is afterwards as it
 * was. */
static void denormals_count_as_zero_inside_only(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    cvy_device *device = cpu_open(threads, WORKSPACE);
    assert_true(for_all(device, 0, check_denormals) > 0);
    cvy_backend_cpu.close(device);
  }
}

/* --------------------------------------------------------------------------------- rounding */

static cvy_device *plain; /* never called but in the default mode */

/* Checks the first calls, which start the pool's threads, and later ones. */
static void check_rounding(cvy_device *device, cpu_work *w) {
  size_t bytes = (size_t)w->out.count * sizeof(float);
  float *expected = malloc(bytes), *got = malloc(bytes);
  run_into(plain, w, expected);
  fesetround(FE_UPWARD);
  run_into(device, w, got);
  assert_int_equal(fegetround(), FE_UPWARD);
  fesetround(FE_TONEAREST);
  assert_memory_equal(got, expected, bytes);
  run_into(device, w, got);
  assert_memory_equal(got, expected, bytes);
  free(expected);
  free(got);
}

static void callers_rounding_changes_nothing(void **state) {
  (void)state;
#if defined(__SSE2__) || defined(__aarch64__)
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    cvy_device *device = cpu_open(threads, WORKSPACE);
    plain = cpu_open(threads, WORKSPACE);
    assert_true(for_all(device, 0, check_rounding) > 0);
    cvy_backend_cpu.close(plain);
    cvy_backend_cpu.close(device);
  }
#else
  skip();
#endif
}

/* ---------------------------------------------------------------------------- not finite */

/* Rows of x that end with a line of cache, or little before. */
static const char *const tight[] = {
    "n1c4w46 k4s3 pad1",         "n3c4w46 k4s3 pad1",         "n2c5h14w46 k4r3s3 pad1",
    "n1c4w94 k4s3 stride2 pad1", "n1c6w46 k4s3 pad1 groups2", "n3c16h12w13 k8r3s3 pad1",
};

/* What is not finite in one channel is neither read by sums of others nor multiplied by 0 there. */
static void check_spread(cvy_device *device, cpu_work *w) {
  const cvy_problem *p = &w->job.problem;
  int64_t channels = p->conv.c / p->conv.groups, taps = cvy_filter_volume(p),
          volume = cvy_in_volume(p);
  for (int64_t c = 0; c < p->conv.c; c++) {
    float *x = w->a.values + c * volume, *last = x + volume - 1, before[] = {*x, *last};
    *x = *last = INFINITY;
    assert_int_equal(cpu_run(device, w), CONVOY_OK);
    for (int64_t i = 0; i < w->out.count; i++) {
      if (i / taps % channels + i / taps / channels / (p->conv.k / p->conv.groups) * channels != c)
        assert_true(isfinite(w->out.values[i]));
    }
    *x = before[0], *last = before[1];
  }
}

static void what_is_not_finite_stays_in_its_channel(void **state) {
  (void)state;
  cvy_device *device = cpu_open(2, WORKSPACE);
  for (size_t s = 0; s < CVY_COUNT(tight); s++) {
    for (int row = 0; cvy_backend_cpu.algorithms[row]; row++) {
      cpu_work w = cpu_work_new(tight[s], CONVOY_BACKWARD_WEIGHTS, 0, test_fill_reals);
      if (cpu_choose(device, &w, row)) check_spread(device, &w);
      cpu_work_free(&w);
    }
  }
  cvy_backend_cpu.close(device);
}

/* ---------------------------------------------------------------------------------- facts */

static void facts_are_filled(void **state) {
  (void)state;
  cvy_open_options options = {.threads = 3, .workspace_limit = 12345};
  cvy_facts facts;
  int32_t count = 0;
  cvy_device *device;
  assert_int_equal(cvy_backend_cpu.list(&options, &facts, 1, &count), CONVOY_OK);
  assert_int_equal(count, 1);
  assert_string_equal(facts.info.id, "cpu");
  assert_true(facts.info.name[0] && facts.info.platform[0] && facts.info.driver[0]);
  assert_int_equal(facts.info.compute_units, 3);
  assert_int_equal(facts.workspace_limit, 12345);
  assert_true(facts.info.memory_bytes > 0);
  assert_int_equal(cvy_backend_cpu.open(1, &options, &device), CONVOY_ERR_NOT_FOUND);
}

static void peaks_are_plausible(void **state) {
  (void)state;
  cvy_reply reply;
  cvy_device *device = cpu_open(0, WORKSPACE);
  assert_int_equal(command_peak(&cvy_backend_cpu, device, &reply), CONVOY_OK);
  assert_true(reply.gflops > 0.1 && reply.gflops < 1e6);
  assert_true(reply.gigabytes > 0.01 && reply.gigabytes < 1e5);
  cvy_backend_cpu.close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits_and_outputs_not_read),
      cmocka_unit_test(beta_one_adds),
      cmocka_unit_test(tiny_limits_are_kept),
      cmocka_unit_test(memory_is_flat),
      cmocka_unit_test(exhausted_memory_leaves_the_output),
      cmocka_unit_test(empty_batches_clear_gradients),
      cmocka_unit_test(denormals_count_as_zero_inside_only),
      cmocka_unit_test(callers_rounding_changes_nothing),
      cmocka_unit_test(what_is_not_finite_stays_in_its_channel),
      cmocka_unit_test(facts_are_filled),
      cmocka_unit_test(peaks_are_plausible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
