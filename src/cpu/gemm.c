/* The only file that knows OpenBLAS. Nothing is configured globally: numpy and others share it. */
#include "cpu/gemm.h"

#include <cblas.h>

enum { OPENMP = 2 }; /* of openblas_get_parallel() */

/* Only the OpenMP build of OpenBLAS brings these along; others leave them NULL. */
extern int omp_get_max_threads(void) __attribute__((weak));
extern void omp_set_num_threads(int count) __attribute__((weak));

/* The OpenMP build asks its runtime how many threads this thread may use: a setting of the calling
 * thread alone, put back afterwards. */
static int limit_to_one(void) {
  if (!omp_get_max_threads || !omp_set_num_threads) return 1;
  int before = omp_get_max_threads();
  if (before != 1) omp_set_num_threads(1);
  return before;
}

static void give_back(int threads) {
  if (threads != 1) omp_set_num_threads(threads);
}

void cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add, float *c,
              int64_t c_pitch) {
  int before = limit_to_one();
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a.at,
              (int)a.pitch, b.at, (int)b.pitch, add ? 1.0f : 0.0f, c, (int)c_pitch);
  give_back(before);
}

bool cvy_gemm_concurrent(void) {
  return openblas_get_parallel() == OPENMP;
}

const char *cvy_gemm_config(void) {
  return openblas_get_config();
}
