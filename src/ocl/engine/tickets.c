/* The book of commands: each has a number, and once it is known how far the device is, results up
 * to there are good. */
#include "ocl/engine/tickets.h"

#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"

void tickets_finish(cvy_device *device, uint64_t ticket) {
  if (ticket > device->tickets.finished) device->tickets.finished = ticket;
  observer_progress(device);
}

void tickets_finish_all(cvy_device *device) {
  device->tickets.finished = device->tickets.issued;
}

convoy_status command_drained(cvy_device *device, int32_t code, const char *what) {
  if (code == 0) {
    tickets_finish_all(device);
    completion_drop(device);
    device->memory.stirred = false;
    observer_progress(device);
    return CONVOY_OK;
  }
  convoy_status status = device->runtime->fail(code, what);
  fault_record(device, device->tickets.finished + 1, status);
  return status;
}
