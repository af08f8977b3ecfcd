/* The only file that knows OpenBLAS. Nothing is configured globally: numpy and others share it. */
#include "cpu/gemm.h"

#include <cblas.h>
#include <pthread.h>

enum { OPENMP = 2 }; /* of openblas_get_parallel() */

/* Only the OpenMP build of OpenBLAS brings these along; with others they are NULL. */
extern int omp_get_max_threads(void) __attribute__((weak));
extern void omp_set_num_threads(int count) __attribute__((weak));

/* ------------------------------------------------------- builds that need one call at a time */

/* The serial build has no lock around its buffers (two threads get wrong products), the pthread build
 * would start its own threads for each of ours. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock(void) {
  pthread_mutex_lock(&one_at_a_time);
}

static void unlock(void) {
  pthread_mutex_unlock(&one_at_a_time);
}

/* A child must not inherit the lock of a thread it does not have. */
static void watch_forks(void) {
  pthread_atfork(lock, unlock, unlock);
}

/* ----------------------------------------------------------------------------- one product */

/* The OpenMP build asks its runtime how many threads the calling thread may use: a setting of that
 * thread alone, put back afterwards. */
static int begin(void) {
  if (openblas_get_parallel() != OPENMP || !omp_get_max_threads || !omp_set_num_threads) {
    pthread_once(&once, watch_forks);
    lock();
    return 0;
  }
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  return threads;
}

static void end(int threads) {
  if (threads == 0)
    unlock();
  else
    omp_set_num_threads(threads);
}

void cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add, float *c,
              int64_t c_pitch) {
  int threads = begin();
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a.at,
              (int)a.pitch, b.at, (int)b.pitch, add ? 1.0f : 0.0f, c, (int)c_pitch);
  end(threads);
}

const char *cvy_gemm_config(void) {
  return openblas_get_config();
}
