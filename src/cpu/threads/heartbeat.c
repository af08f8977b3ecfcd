/* The heartbeat of the calling thread. Relaxed stores are enough, because a reader compares counts
 * that are seconds old. */
#include "cpu/threads/heartbeat.h"

#include <pthread.h>
#include <stddef.h>

_Static_assert(sizeof(cvy_heartbeat) == 64, "two heartbeats share a line of cache");

static _Thread_local cvy_heartbeat *here;

cvy_heartbeat *cvy_heartbeat_attach(cvy_heartbeat *heartbeat) {
  cvy_heartbeat *before = here;
  clockid_t clock;
  if (heartbeat && pthread_getcpuclockid(pthread_self(), &clock) == 0)
    atomic_store_explicit(&heartbeat->clock, clock, memory_order_relaxed);
  here = heartbeat;
  return before;
}

void cvy_heartbeat_tick(void) {
  if (!here) return;
  uint64_t count = atomic_load_explicit(&here->count, memory_order_relaxed);
  atomic_store_explicit(&here->count, count + 1, memory_order_relaxed);
}

static void put(const cvy_progress_point *point) {
  for (int i = 0; i < 3; i++)
    atomic_store_explicit(&here->number[i], point->number[i], memory_order_relaxed);
  atomic_store_explicit(&here->activity, (int)point->activity, memory_order_relaxed);
  cvy_heartbeat_tick();
}

cvy_progress_point cvy_heartbeat_enter(cvy_progress_point point) {
  cvy_progress_point before = {CVY_IDLE, {0}};
  if (!here) return before;
  before.activity = (cvy_activity)atomic_load_explicit(&here->activity, memory_order_relaxed);
  for (int i = 0; i < 3; i++)
    before.number[i] = atomic_load_explicit(&here->number[i], memory_order_relaxed);
  put(&point);
  return before;
}

void cvy_heartbeat_leave(cvy_progress_point before) {
  if (here) put(&before);
}
