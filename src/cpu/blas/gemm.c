/* The only file that knows OpenBLAS. Nothing is configured for the whole process, because numpy and
 * others share the library. */
#include "cpu/blas/gemm.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "base/base.h"
#include "cpu/threads/heartbeat.h"

enum { SERIAL, PTHREAD, OPENMP }; /* of openblas_get_parallel() */

/* Those of the runtime in the process; NULL if neither this library nor OpenBLAS is built with
 * OpenMP. */
extern int omp_get_max_threads(void) __attribute__((weak));
extern void omp_set_num_threads(int count) __attribute__((weak));

/* ------------------------------------------------------------------------ who may be inside */

/* The OpenMP build takes calls from many threads. The others get one call at a time: the serial
 * build has no lock around its buffers, so that two threads get wrong products, and the pthread
 * build would start its own threads for each of ours. So an engine of several threads has no use
 * for them, and the lock is for several engines of one thread. A fork takes it for itself, so that
 * no call holds a lock of BLAS's own that the child would wait for; readers let it pass first. */
#define LOCK_FREE PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t inside = LOCK_FREE;
static _Thread_local bool fork_has_it;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Seconds: longer than a call takes, and a call that hangs must not stop a fork. */
#define FORK_WAITS 2

static void before_fork(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += FORK_WAITS;
  fork_has_it = pthread_rwlock_clockwrlock(&inside, CLOCK_MONOTONIC, &until) == 0;
}

static void after_fork(void) {
  if (fork_has_it) pthread_rwlock_unlock(&inside);
}

static void after_fork_in_child(void) {
  inside = (pthread_rwlock_t)LOCK_FREE;
}

static void handle_forks(void) {
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static bool takes_many(void) {
  return openblas_get_parallel() == OPENMP && omp_get_max_threads && omp_set_num_threads;
}

static const char *kind(void) {
  static const char *const names[] = {
      [SERIAL] = "serial", [PTHREAD] = "pthread", [OPENMP] = "OpenMP"};
  return names[openblas_get_parallel()];
}

bool cvy_gemm_serves(int32_t threads, cvy_text *reason) {
  if (threads < 2 || takes_many()) return true;
  cvy_text_add(reason, "OpenBLAS's %s build takes one call at a time, and %d threads compute",
               kind(), (int)threads);
  return false;
}

static void enter(void) {
  pthread_once(&once, handle_forks);
  cvy_progress_point before = cvy_heartbeat_enter((cvy_progress_point){CVY_BLAS_TURN, {0}});
  if (takes_many())
    pthread_rwlock_rdlock(&inside);
  else
    pthread_rwlock_wrlock(&inside);
  cvy_heartbeat_leave(before);
}

/* ----------------------------------------------------------------------------- one product */

/* The OpenMP build asks its runtime how many threads the calling thread may use. That is a setting
 * of that thread alone, and is put back afterwards. Returns what it was, or 0 if nothing was
 * set. */
static int begin(void) {
  enter();
  if (!takes_many()) return 0;
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  return threads;
}

static void end(int threads) {
  if (threads > 0) omp_set_num_threads(threads);
  pthread_rwlock_unlock(&inside);
}

void cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add, float *c,
              int64_t c_pitch) {
  int threads = begin();
  cvy_progress_point before = cvy_heartbeat_enter((cvy_progress_point){CVY_BLAS, {m, n, k}});
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a.at,
              (int)a.pitch, b.at, (int)b.pitch, add ? 1.0f : 0.0f, c, (int)c_pitch);
  cvy_heartbeat_leave(before);
  end(threads);
}

const char *cvy_gemm_config(void) {
  return openblas_get_config();
}

/* ------------------------------------------------------------------------- which processor */

/* OpenBLAS's names of processors whose vectors are shorter than AVX-512's, in capitals. Those with
 * AVX but without its multiply-adds or integers are to the engine what SSE is. */
static const struct {
  const char *name;
  int width;
} narrow[] = {
    {"GENERIC", 4},     {"KATMAI", 4},       {"COPPERMINE", 4}, {"NORTHWOOD", 4},
    {"PRESCOTT", 4},    {"BANIAS", 4},       {"ATOM", 4},       {"CORE2", 4},
    {"PENRYN", 4},      {"DUNNINGTON", 4},   {"NEHALEM", 4},    {"ATHLON", 4},
    {"OPTERON", 4},     {"OPTERON_SSE3", 4}, {"BARCELONA", 4},  {"BOBCAT", 4},
    {"NANO", 4},        {"SANDYBRIDGE", 4},  {"BULLDOZER", 4},  {"PILEDRIVER", 4},
    {"STEAMROLLER", 4}, {"EXCAVATOR", 4},    {"HASWELL", 8},    {"ZEN", 8},
};

bool cvy_gemm_has_width(int64_t width) {
  const char *core = openblas_get_corename();
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
    if (cvy_same(core, narrow[i].name)) return narrow[i].width >= width;
  }
  return true;
}

/* -------------------------------------------------------------------------------- in words */

static const char *file(void) {
  Dl_info where;
  return dladdr((void *)cblas_sgemm, &where) && where.dli_fname ? where.dli_fname : "OpenBLAS";
}

void cvy_gemm_describe(int32_t threads, int64_t width, cvy_text *words) {
  char why[128];
  cvy_text reason = cvy_text_in(why, sizeof why);
  if (!cvy_gemm_serves(threads, &reason))
    cvy_text_add(words, "no products by %s: %s", file(), why);
  else if (!cvy_gemm_has_width(width))
    cvy_text_add(words,
                 "few products by %s: its loops for %s have shorter vectors than the engine's",
                 file(), openblas_get_corename());
  else
    cvy_text_add(words, "products by %s, its %s build", file(), kind());
}
