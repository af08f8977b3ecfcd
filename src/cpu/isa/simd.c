/* Picks the inner loops for this processor, once. */
#include "cpu/isa/simd.h"

#include <pthread.h>
#include <string.h>

#include "base/base.h"

typedef struct choice {
  const char *name;
  const cvy_simd *simd;
  bool here; /* whether this processor has it */
} choice;

static const cvy_simd *best;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Chooses the named set or, where the processor lacks it, the best below it. Any other name means
 * the best. */
static void choose(void) {
  const choice choices[] = {
#if defined(__x86_64__)
    {"avx512", &cvy_simd_avx512, __builtin_cpu_supports(CVY_AVX512_NEEDS)},
    {"avx2", &cvy_simd_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
    {"baseline", &cvy_simd_baseline, true},
  };
  const char *wanted = cvy_env("CONVOY_CPU_ISA");
  size_t first = 0;
  while (wanted && first < CVY_COUNT(choices) && strcmp(choices[first].name, wanted) != 0) first++;
  size_t i = first < CVY_COUNT(choices) ? first : 0;
  while (!choices[i].here) i++;
  best = choices[i].simd;
  if (wanted && i != first) {
    cvy_log(CONVOY_LOG_WARNING, "cpu: CONVOY_CPU_ISA is \"%s\", this processor runs %s", wanted,
            choices[i].name);
  }
}

const cvy_simd *cvy_simd_best(void) {
  pthread_once(&once, choose);
  return best;
}
