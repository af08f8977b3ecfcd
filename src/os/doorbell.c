/* A doorbell on a futex. Who waits spins for a moment first: a command ring is mostly busy, and a
 * sleep and wake-up cost 18 to 30 us where a look at a counter costs none. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

#define SPIN_SECONDS 20e-6

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

uint32_t cvy_doorbell_seen(cvy_doorbell *bell) {
  return atomic_load(&bell->count);
}

void cvy_doorbell_ring(cvy_doorbell *bell) {
  atomic_fetch_add(&bell->count, 1);
  if (atomic_load(&bell->sleepers) == 0) return;
  syscall(SYS_futex, &bell->count, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool spin(cvy_doorbell *bell, uint32_t seen, double seconds) {
  double end = cvy_clock() + (seconds >= 0 && seconds < SPIN_SECONDS ? seconds : SPIN_SECONDS);
  do {
    for (int i = 0; i < 16; ++i) {
      if (atomic_load_explicit(&bell->count, memory_order_acquire) != seen) return true;
      relax();
    }
  } while (cvy_clock() < end);
  return false;
}

void cvy_doorbell_wait(cvy_doorbell *bell, uint32_t seen, double seconds) {
  if (spin(bell, seen, seconds)) return;
  struct timespec limit = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  atomic_fetch_add(&bell->sleepers, 1);
  /* The kernel compares the count again, so a ring between the spin and here is not missed. */
  syscall(SYS_futex, &bell->count, FUTEX_WAIT, seen, seconds < 0 ? NULL : &limit, NULL, 0);
  atomic_fetch_sub(&bell->sleepers, 1);
}
