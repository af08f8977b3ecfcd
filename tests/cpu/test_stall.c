/* A BLAS call that hangs: the line says where, the counter counts, and the result is right once the
 * call returns. This program's own cblas_sgemm takes the place of the library's. */
#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "cpu/work.h"
#include "os/os.h"

#define PATIENCE 60 /* seconds until the line must be there; the limit is 1 */

static atomic_bool hang;
static char line[1024];
static atomic_int lines;

typedef void sgemm_fn(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint,
                      blasint, blasint, float, const float *, blasint, const float *, blasint,
                      float, float *, blasint);

static void rest(void) {
  nanosleep(&(struct timespec){0, 10000000}, NULL);
}

void cblas_sgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb,
                 blasint m, blasint n, blasint k, float alpha, const float *a, blasint lda,
                 const float *b, blasint ldb, float beta, float *c, blasint ldc) {
  sgemm_fn *real;
  *(void **)&real = dlsym(RTLD_NEXT, "cblas_sgemm");
  while (hang) rest();
  real(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static void take_line(void *user, convoy_log_level level, const char *text) {
  (void)user;
  (void)level;
  if (lines == 0) snprintf(line, sizeof line, "%s", text);
  lines++;
}

static void *run_engine(void *device) {
  return (void *)(intptr_t)cpu_row_is_right(device, "cpu.im2col");
}

static int64_t stalls(const cvy_device *device) {
  cvy_usage usage;
  cvy_backend_cpu.usage(device, &usage);
  return usage.stalls;
}

static void hanging_blas_is_told(void **state) {
  (void)state;
  cvy_device *device = cpu_open(1, WORKSPACE);
  pthread_t runner;
  void *right;
  hang = true;
  assert_int_equal(pthread_create(&runner, NULL, run_engine, device), 0);
  for (double start = cvy_clock(); lines == 0 && cvy_clock() - start < PATIENCE;) rest();
  hang = false;
  pthread_join(runner, &right);
  assert_int_equal(lines, 1);
  assert_non_null(strstr(line, "cpu: no progress for 1 s in a BLAS product of "));
  assert_non_null(strstr(line, "cpu.im2col on n2c12h19w21 k10r3s3 stride2 pad1 forward"));
  assert_int_equal(stalls(device), 1);
  assert_true(right);
  cvy_backend_cpu.close(device);
}

static void limits_are_read(void **state) {
  (void)state;
  cvy_open_options options = {.threads = 1, .workspace_limit = WORKSPACE};
  cvy_device *device;
  setenv("CONVOY_CPU_STALL", "soon", 1);
  assert_int_equal(cvy_backend_cpu.open(0, &options, &device), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "soon"));
  setenv("CONVOY_CPU_STALL", "0", 1);
  assert_int_equal(cvy_backend_cpu.open(0, &options, &device), CONVOY_OK);
  assert_true(cpu_row_is_right(device, "cpu.im2col"));
  assert_int_equal(stalls(device), 0);
  cvy_backend_cpu.close(device);
}

int main(void) {
  setenv("CONVOY_CPU_STALL", "1", 1);
  convoy_set_log(take_line, NULL, CONVOY_LOG_WARNING);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hanging_blas_is_told),
      cmocka_unit_test(limits_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
