/* OpenBLAS has builds that take one call at a time, and a machine may have any of them: the first
 * argument names the build that LD_LIBRARY_PATH is to have found, or with a second argument the one
 * that this program takes it for. */
#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/forks.h"
#include "core/tune/choose.h"
#include "cpu/blas/gemm.h"
#include "cpu/work.h"

#define MOST_THREADS 3
#define ROUNDS 20

static const char *const kinds[] = {"serial", "pthread", "openmp"}; /* openblas_get_parallel() */

/* A row that leaves its products to BLAS, and a problem that it takes. */
static const struct {
  const char *row, *problem;
} users[] = {{"cpu.im2col", "n2c8h9w9 k8r3s3 forward"},
             {"cpu.matmul_blas", "matmul a16x32 b32x24"}};

static int kind;
static bool pretended;
static atomic_int products;

int __real_openblas_get_parallel(void);
int __wrap_openblas_get_parallel(void);
void __real_cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add,
                     float *c, int64_t c_pitch);
void __wrap_cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add,
                     float *c, int64_t c_pitch);

int __wrap_openblas_get_parallel(void) {
  return pretended ? kind : __real_openblas_get_parallel();
}

void __wrap_cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add,
                     float *c, int64_t c_pitch) {
  products++;
  __real_cvy_gemm(m, n, k, a, b, add, c, c_pitch);
}

static bool serves(int threads) {
  return threads == 1 || strcmp(kinds[kind], "openmp") == 0;
}

/* Neither the table nor what was measured with another build chooses such a row, and who forces it
 * is told why not. */
static void rows_are_for_threads_that_blas_takes(void **state) {
  (void)state;
  for (int threads = 1; threads <= MOST_THREADS; threads++) {
    cvy_device *device = cpu_open(threads, WORKSPACE);
    const cvy_engine engine = {&cvy_backend_cpu, device, *cvy_backend_cpu.facts(device), NULL, 0};
    for (size_t i = 0; i < CVY_COUNT(users); i++) {
      char why[256] = "", number[32];
      cvy_text reason = cvy_text_in(why, sizeof why);
      cvy_choice choice;
      cvy_record record = {.params = ""};
      int32_t row = cvy_row_named(&cvy_backend_cpu, users[i].row);
      assert_true(cvy_problem_read(users[i].problem, &record.problem));
      snprintf(record.algorithm, sizeof record.algorithm, "%s", users[i].row);
      if (i == 0) snprintf(record.params, sizeof record.params, "PIXELS=512");
      assert_int_equal(cvy_row_takes(&engine, row, &record.problem, &choice, &reason),
                       serves(threads));
      assert_int_equal(cvy_record_runs(&engine, &record, &record.problem, &choice),
                       serves(threads));
      assert_int_equal(cvy_algorithm_serves(cvy_backend_cpu.algorithms[row], &engine.facts),
                       serves(threads));
      if (serves(threads)) continue;
      snprintf(number, sizeof number, "and %d threads", threads);
      assert_non_null(strstr(why, kinds[kind]));
      assert_non_null(strstr(why, number));
    }
    cvy_backend_cpu.close(device);
  }
}

static void expect_equals_direct(cvy_device *device, int row, const char *shape, int direction) {
  cpu_work tested = cpu_work_new(shape, direction, 0, test_fill_integers);
  cpu_work direct = cpu_work_new(shape, direction, 0, test_fill_integers);
  if (cpu_choose(device, &tested, row)) {
    assert_true(cpu_choose_named(device, &direct, "cpu.direct"));
    assert_int_equal(cpu_run(device, &tested), CONVOY_OK);
    assert_int_equal(cpu_run(device, &direct), CONVOY_OK);
    for (int64_t i = 0; i < tested.out.count; i++)
      assert_true(tested.out.values[i] == direct.out.values[i]);
  }
  cpu_work_free(&tested);
  cpu_work_free(&direct);
}

/* Whichever row it is: what it accepts it does right, and none calls BLAS from threads that would
 * wait for each other. */
static void results_are_right_and_nobody_waits(void **state) {
  static const char *const shapes[] = {"n2c12h19w21 k10r3s3 stride2 pad1", "n1c64h24w24 k48r1s1"};
  (void)state;
  cvy_device *device = cpu_open(MOST_THREADS, WORKSPACE);
  products = 0;
  for (int row = 0; cvy_backend_cpu.algorithms[row]; row++) {
    if (cvy_backend_cpu.algorithms[row]->error_growth > 0) continue; /* not exact */
    for (size_t i = 0; i < CVY_COUNT(shapes); i++) {
      for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++)
        expect_equals_direct(device, row, shapes[i], d);
    }
  }
  assert_int_equal(products > 0, serves(MOST_THREADS));
  cvy_backend_cpu.close(device);
}

static void *compute(void *wrong) {
  cvy_device *device = cpu_open(1, WORKSPACE);
  for (int i = 0; i < ROUNDS; i++)
    if (!cpu_row_is_right(device, "cpu.im2col")) (*(atomic_int *)wrong)++;
  cvy_backend_cpu.close(device);
  return NULL;
}

/* Each of one thread, and so each of them may call it. */
static void engines_take_turns(void **state) {
  (void)state;
  pthread_t callers[MOST_THREADS];
  atomic_int wrong = 0;
  products = 0;
  for (int i = 0; i < MOST_THREADS; i++)
    assert_int_equal(pthread_create(&callers[i], NULL, compute, &wrong), 0);
  for (int i = 0; i < MOST_THREADS; i++) pthread_join(callers[i], NULL);
  assert_int_equal(wrong, 0);
  assert_true(products > 0);
}

/* For `convoy info`. */
static void info_says_why(void **state) {
  (void)state;
  for (int threads = 1; threads <= MOST_THREADS; threads++) {
    char said[512];
    cvy_text words = cvy_text_in(said, sizeof said);
    cvy_gemm_describe(threads, 4, &words);
    assert_int_equal(strncmp(said, "products by ", 12) == 0, serves(threads));
    assert_int_equal(strncmp(said, "no products by ", 15) == 0, !serves(threads));
    assert_int_equal(strstr(said, "one call at a time") != NULL, !serves(threads));
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_for_threads_that_blas_takes),
      cmocka_unit_test(results_are_right_and_nobody_waits),
      cmocka_unit_test(engines_take_turns),
      cmocka_unit_test(info_says_why),
  };
  if (argc < 2) return EXIT_FAILURE;
  while (kind < (int)CVY_COUNT(kinds) - 1 && strcmp(kinds[kind], argv[1]) != 0) kind++;
  pretended = argc > 2;
  if (openblas_get_parallel() != kind) {
    fprintf(stderr, "skipped: OpenBLAS's %s build is not here, only its %s build\n", argv[1],
            kinds[openblas_get_parallel()]);
    return SKIPPED;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
