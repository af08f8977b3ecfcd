/* Picks the inner loops for this processor, once. */
#include "cpu/isa/simd.h"

#include <pthread.h>
#include <string.h>

#define VARIABLE "CONVOY_CPU_ISA"

/* The best first. Those of another kind of processor have no loops here. */
enum { AVX512, AVX2, BASELINE, SETS };
static const char *const names[SETS] = {"avx512", "avx2", "baseline"};

static const cvy_simd *loops_of(int set) {
#if defined(__x86_64__)
  if (set == AVX512) return __builtin_cpu_supports(CVY_AVX512_NEEDS) ? &cvy_simd_avx512 : NULL;
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == AVX2) return has_avx2 ? &cvy_simd_avx2 : NULL;
#endif
  return set == BASELINE ? &cvy_simd_baseline : NULL;
}

/* The set that the user names, the best where he names none; SETS: there is none of that name. */
static int wanted_set(void) {
  const char *wanted = cvy_env(VARIABLE);
  int set = 0;
  while (wanted && set < SETS && strcmp(names[set], wanted) != 0) set++;
  return set;
}

convoy_status cvy_simd_check(void) {
  if (wanted_set() < SETS) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, VARIABLE " is \"%s\"; it may be avx512, avx2 or baseline",
                  cvy_env(VARIABLE));
}

static const cvy_simd *best;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Chooses the set that is wanted or, where the processor lacks it, the best below it. */
static void choose(void) {
  const int wanted = wanted_set();
  int set = wanted < SETS ? wanted : 0;
  while (!loops_of(set)) set++;
  best = loops_of(set);
  if (set != wanted && cvy_env(VARIABLE)) {
    cvy_log(CONVOY_LOG_WARNING, "cpu: " VARIABLE " is \"%s\", this processor runs %s",
            cvy_env(VARIABLE), names[set]);
  }
}

const cvy_simd *cvy_simd_best(void) {
  pthread_once(&once, choose);
  return best;
}
