/* Claiming the parts of a loop. */
#include "cpu/threads/loop.h"

static _Thread_local bool inside;

static void claim_parts(cvy_loop *loop, int32_t member) {
  for (;;) {
    int64_t part = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
    if (part >= loop->parts) return;
    int64_t size = loop->count / loop->parts, rest = loop->count % loop->parts;
    int64_t begin = part * size + (part < rest ? part : rest);
    int64_t end = begin + size + (part < rest);
    cvy_progress_point before =
        cvy_heartbeat_enter((cvy_progress_point){CVY_PART, {part + 1, loop->parts}});
    loop->task(loop->arg, begin, end, loop->slot_is_part ? (int32_t)part : member);
    cvy_heartbeat_leave(before);
  }
}

static cvy_heartbeat *heartbeat_of(cvy_watchdog *watchdog, int32_t member) {
  return watchdog ? cvy_watchdog_heartbeat(watchdog, member) : NULL;
}

void cvy_loop_join(cvy_loop *loop, int32_t member) {
  if (inside) {
    claim_parts(loop, member);
    return;
  }
  inside = true;
  cvy_heartbeat *before = cvy_heartbeat_attach(heartbeat_of(loop->watchdog, member));
  claim_parts(loop, member);
  cvy_heartbeat_attach(before);
  inside = false;
}

bool cvy_loop_is_inside(void) {
  return inside;
}

void cvy_loop_after_fork(void) {
  inside = false;
  cvy_heartbeat_attach(NULL);
}
