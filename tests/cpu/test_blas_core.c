/* Whether OpenBLAS's loops are worth asking is seen from the processor that it takes this one for,
 * which OPENBLAS_CORETYPE sets here: one test a process. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/cmocka.h"
#include "cpu/blas/gemm.h"
#include "cpu/row.h"
#include "problem/conv/conv.h"

static int width_of(const char *core) {
  if (strcasecmp(core, "prescott") == 0) return 4;
  return strcasecmp(core, "haswell") == 0 ? 8 : 16;
}

/* Of OpenBLAS's loops. */
static int width_in_use(void) {
  const char *core = getenv("OPENBLAS_CORETYPE");
  assert_non_null(core);
  if (strcasecmp(core, openblas_get_corename()) != 0) {
    printf("skipped: this OpenBLAS has no loops for %s\n", core);
    skip();
  }
  return width_of(core);
}

static void test_width(void **state) {
  const int in_use = width_in_use();
  (void)state;
  for (int width = 4; width <= 16; width *= 2)
    assert_int_equal(cvy_gemm_has_width(width), width <= in_use);
  assert_int_equal(cvy_cpu_matmul_blas.algorithm.pays(NULL, NULL),
                   cvy_simd_best()->microkernel.width <= in_use);
}

/* Many sums of few terms each cpu.implicit_gemm leaves to BLAS, if that has vectors of the engine's
 * width. */
static void test_large_weights(void **state) {
  const cvy_facts facts = {.info.compute_units = 2};
  const int64_t x[] = {8, 256, 14, 14}, w[] = {1024, 256, 1, 1};
  const convoy_conv conv = CONVOY_CONV_INIT(2);
  const int64_t width = cvy_simd_best()->microkernel.width;
  const bool left = width >= 8 && width_in_use() >= width;
  cvy_problem problem;
  (void)state;
  assert_int_equal(cvy_conv_make(&conv, CONVOY_BACKWARD_WEIGHTS, x, w, 0, false, NULL, &problem),
                   CONVOY_OK);
  assert_int_equal(cvy_cpu_implicit_gemm.algorithm.pays(&problem, &facts), !left);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_width),
                                     cmocka_unit_test(test_large_weights)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
