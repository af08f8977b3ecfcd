/* How the worker learns what this thread's engine is busy with: a hung compiler and a hung kernel have
 * different deadlines. */
#include "ocl/engine/engine.h"

static _Thread_local const cvy_engine_watch *watch;

void watch_set(const cvy_engine_watch *new) {
  watch = new;
}

cvy_phase watch_phase(cvy_phase phase) {
  return watch ? watch->phase(watch->user, phase) : CVY_PHASE_IDLE;
}

void watch_progress(const cvy_device *device) {
  if (watch) watch->progress(watch->user, device->finished);
}

void watch_first_run(void) {
  if (watch) watch->first_run(watch->user);
}
