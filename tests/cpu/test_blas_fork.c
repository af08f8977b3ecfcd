/* A child made by fork() multiplies with BLAS, whatever the parent and its other threads did with
 * it: OpenMP's own loops never come back in such a child, so the engine must not enter one. */
#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/forks.h"
#include "cpu/work.h"

#define CHILD_SECONDS 20 /* then SIGALRM ends a child that hangs */
#define FORKS 20
#define SIZE 512

extern void omp_set_num_threads(int count) __attribute__((weak));
extern int omp_get_max_threads(void) __attribute__((weak));

/* Lets a child compute with the engine it inherits, then with one of its own. Its verdict is its
 * exit status. */
static void expect_child_computes(cvy_device *inherited) {
  int status = -1;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(CHILD_SECONDS);
    bool right = !inherited || cpu_row_is_right(inherited, "cpu.im2col");
    cvy_device *own = cpu_open(cpu_blas_threads(3), WORKSPACE);
    right = cpu_row_is_right(own, "cpu.im2col") && right;
    cvy_backend_cpu.close(own);
    _exit(right ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void child_of_an_engine(void **state) {
  (void)state;
  cvy_device *device = cpu_open(cpu_blas_threads(3), WORKSPACE);
  expect_child_computes(device);
  assert_true(cpu_row_is_right(device, "cpu.im2col"));
  expect_child_computes(device);
  assert_true(cpu_row_is_right(device, "cpu.im2col"));
  cvy_backend_cpu.close(device);
}

/* The program makes products of its own on all of OpenMP's threads, as numpy does. */
static void child_of_a_program_with_openmp(void **state) {
  (void)state;
  float *matrix = calloc(3 * SIZE * SIZE, sizeof *matrix);
  cvy_device *device = cpu_open(cpu_blas_threads(3), WORKSPACE);
  if (omp_set_num_threads) omp_set_num_threads(4);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, matrix, SIZE,
              matrix + SIZE * SIZE, SIZE, 0, matrix + 2 * SIZE * SIZE, SIZE);
  expect_child_computes(device);
  assert_true(cpu_row_is_right(device, "cpu.im2col"));
  if (omp_get_max_threads) assert_int_equal(omp_get_max_threads(), 4); /* put back */
  cvy_backend_cpu.close(device);
  free(matrix);
}

static atomic_bool stop;

static void *keep_busy(void *device) {
  while (!stop && cpu_row_is_right(device, "cpu.im2col")) continue;
  return NULL;
}

static void child_of_a_busy_engine(void **state) {
  (void)state;
  cvy_device *busy = cpu_open(cpu_blas_threads(3), WORKSPACE);
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, keep_busy, busy), 0);
  for (int i = 0; i < FORKS; i++) expect_child_computes(NULL);
  stop = true;
  pthread_join(other, NULL);
  cvy_backend_cpu.close(busy);
}

int main(void) {
  if (!FORKS_WITHIN_MALLOC) { /* other threads are always at work here */
    fputs("skipped: AddressSanitizer does not survive a fork of busy threads\n", stderr);
    return SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(child_of_an_engine),
      cmocka_unit_test(child_of_a_program_with_openmp),
      cmocka_unit_test(child_of_a_busy_engine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
