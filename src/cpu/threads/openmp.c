/* The team of OpenMP's threads: those of the runtime that the program has, be it its own, numpy's
 * OpenBLAS's, or the one that came with this library. What the program and the library compute in
 * turns then finds the same threads awake. The only file that is compiled for OpenMP. */
#include <dlfcn.h>
#include <pthread.h>

#include "cpu/threads/crowding.h"
#include "cpu/threads/denormals.h"
#include "cpu/threads/openmp.h"
#include "os/os.h"

extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);
extern int omp_get_max_threads(void);
extern int omp_get_thread_limit(void);
extern int omp_get_max_active_levels(void);
extern int omp_in_parallel(void);

/* -------------------------------------------------------------------------------- its life */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool waits_as_told; /* the user has said how long OpenMP's threads look for work */
static const char *library = "this program";

/* The runtime's threads stay when this library is unloaded, so the runtime must stay too: GNU's may
 * be unloaded under threads that wait in it. */
static void look_at_runtime(void) {
  static const char *const settings[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  Dl_info where;
  for (size_t i = 0; i < CVY_COUNT(settings); i++) {
    if (cvy_env(settings[i])) waits_as_told = true;
  }
  if (!dladdr((void *)omp_get_max_threads, &where) || !where.dli_fname) return;
  library = where.dli_fname;
  dlopen(library, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

const char *cvy_openmp_library(void) {
  pthread_once(&once, look_at_runtime);
  return library;
}

int32_t cvy_openmp_threads(void) {
  int most = omp_get_max_threads(), limit = omp_get_thread_limit();
  if (omp_get_max_active_levels() < 1) return 1;
  return most < limit ? most : limit;
}

/* ----------------------------------------------------------------------------------- loops */

/* Member 0 is the calling thread, whose mode is its caller's to set. */
static void work(cvy_loop *loop) {
  int member = omp_get_thread_num();
  if (member == 0) {
    cvy_loop_join(loop, member);
    return;
  }
  uint64_t mode = cvy_denormals_flush();
  cvy_loop_join(loop, member);
  cvy_denormals_restore(mode);
}

/* All members are asked for, however few would do: OpenMP ends and starts threads when the size of
 * its team changes. It gives fewer where it has been told to, and the calling thread alone within a
 * parallel region of the program. */
static void run(cvy_team *team, cvy_loop *loop, int64_t helpers) {
  (void)team, (void)helpers;
#pragma omp parallel num_threads(loop->members)
  work(loop);
}

typedef struct team_size {
  int32_t members; /* asked for */
  int32_t given;
} team_size;

static void start_members(void *arg) {
  team_size *s = arg;
#pragma omp parallel num_threads(s->members)
  if (omp_get_thread_num() == 0) s->given = omp_get_num_threads();
}

/* How many members the calling thread's team has been made for; -1: cannot be. */
static _Thread_local int32_t prepared;

/* GNU's runtime ends the program where a thread cannot be started, so that is tried before. Its
 * threads inherit the signal mask with which they are started. */
static void prepare(int32_t members) {
  if (!cvy_threads_could_start(members - 1)) {
    prepared = -1;
    cvy_log(CONVOY_LOG_WARNING,
            "cpu: the system does not give OpenMP %d threads; a pool computes with what there are",
            (int)members - 1);
    return;
  }
  team_size s = {.members = members};
  cvy_thread_call_masked(start_members, &s);
  prepared = members;
  if (s.given < members)
    cvy_log(CONVOY_LOG_WARNING,
            "cpu: OpenMP computes with %d of %d threads; OMP_THREAD_LIMIT, OMP_DYNAMIC and "
            "OMP_MAX_ACTIVE_LEVELS may say so",
            (int)s.given, (int)members);
}

/* Within a parallel region of the program nothing is prepared: what OpenMP gives there is not the
 * team that the thread has outside. */
static bool ready(cvy_team *team, int32_t members) {
  (void)team;
  pthread_once(&once, look_at_runtime);
  if (omp_in_parallel()) return true;
  if (prepared >= 0 && prepared < members) prepare(members);
  return prepared >= members;
}

static bool ready_alone(cvy_team *team, int32_t members) {
  return ready(team, members) && (waits_as_told || !cvy_crowded());
}

cvy_team *cvy_openmp_team(bool yields) {
  static cvy_team always = {.ready = ready, .run = run};
  static cvy_team yielding = {.ready = ready_alone, .run = run};
  return yields ? &yielding : &always;
}
