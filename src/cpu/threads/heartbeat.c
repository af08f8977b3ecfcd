/* The beat of the calling thread. Relaxed stores do: a reader compares counts that are seconds old. */
#include "cpu/threads/heartbeat.h"

#include <pthread.h>
#include <stddef.h>

_Static_assert(sizeof(cvy_beat) == 64, "two beats share a line of cache");

static _Thread_local cvy_beat *here;

cvy_beat *cvy_beat_attach(cvy_beat *beat) {
  cvy_beat *before = here;
  clockid_t clock;
  if (beat && pthread_getcpuclockid(pthread_self(), &clock) == 0)
    atomic_store_explicit(&beat->clock, clock, memory_order_relaxed);
  here = beat;
  return before;
}

void cvy_beat_on(void) {
  if (!here) return;
  uint64_t count = atomic_load_explicit(&here->count, memory_order_relaxed);
  atomic_store_explicit(&here->count, count + 1, memory_order_relaxed);
}

static void put(const cvy_step *step) {
  for (int i = 0; i < 3; i++)
    atomic_store_explicit(&here->number[i], step->number[i], memory_order_relaxed);
  atomic_store_explicit(&here->activity, (int)step->activity, memory_order_relaxed);
  cvy_beat_on();
}

cvy_step cvy_beat_enter(cvy_step step) {
  cvy_step before = {CVY_IDLE, {0}};
  if (!here) return before;
  before.activity = (cvy_activity)atomic_load_explicit(&here->activity, memory_order_relaxed);
  for (int i = 0; i < 3; i++)
    before.number[i] = atomic_load_explicit(&here->number[i], memory_order_relaxed);
  put(&step);
  return before;
}

void cvy_beat_leave(cvy_step before) {
  if (here) put(&before);
}
