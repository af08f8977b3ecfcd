/* The floating-point mode of a thread. On processors that are not named here it stays as it is. */
#include "cpu/threads/denormals.h"

#if defined(__SSE2__)
#include <xmmintrin.h>

#define DEFAULT_MODE 0x1f80u   /* round to nearest, nothing traps */
#define FLUSH_RESULTS 0x8000u  /* FTZ */
#define FLUSH_OPERANDS 0x0040u /* DAZ */

uint64_t cvy_denormals_flush(void) {
  unsigned mode = _mm_getcsr();
  _mm_setcsr(DEFAULT_MODE | FLUSH_RESULTS | FLUSH_OPERANDS);
  return mode;
}

void cvy_denormals_restore(uint64_t mode) {
  _mm_setcsr((unsigned)mode);
}

#elif defined(__aarch64__)

#define DEFAULT_MODE 0ull       /* the same */
#define FLUSH_BOTH (1ull << 24) /* FPCR.FZ */

uint64_t cvy_denormals_flush(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(DEFAULT_MODE | FLUSH_BOTH));
  return mode;
}

void cvy_denormals_restore(uint64_t mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

#else

uint64_t cvy_denormals_flush(void) {
  return 0;
}

void cvy_denormals_restore(uint64_t mode) {
  (void)mode;
}

#endif
