/* Each thread has an observer of its own: where workers are threads of one process, several engines
 * run at a time. */
#include "ocl/engine/observer.h"

#include "ocl/engine/device.h"

static _Thread_local const cvy_engine_observer *observer;

void observer_set(const cvy_engine_observer *new) {
  observer = new;
}

cvy_phase observer_phase(cvy_phase phase) {
  return observer ? observer->phase(observer->user, phase) : CVY_PHASE_IDLE;
}

void observer_progress(const cvy_device *device) {
  if (observer) observer->progress(observer->user, device->tickets.finished);
}

void observer_first_run(void) {
  if (observer) observer->first_run(observer->user);
}
