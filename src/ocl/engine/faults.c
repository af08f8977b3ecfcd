/* The first command that failed is remembered with its sentence, so that every later one can fail
 * as it did. */
#include "ocl/engine/faults.h"

#include "ocl/engine/device.h"

void fault_record(cvy_device *device, uint64_t ticket, convoy_status status) {
  device_fault *fault = &device->fault;
  if (fault->ticket != 0) return;
  fault->ticket = ticket;
  fault->status = status;
  cvy_text_copy(fault->sentence, sizeof fault->sentence, cvy_last_error());
  cvy_log(CONVOY_LOG_DEBUG, "%s: command %llu failed: %s", device->facts.info.id,
          (unsigned long long)ticket, fault->sentence);
}

convoy_status fault_check(const cvy_device *device) {
  if (device->fault.ticket == 0) return CONVOY_OK;
  return cvy_fail(device->fault.status, "%s", device->fault.sentence);
}

void fault_clear(cvy_device *device) {
  device->fault.ticket = 0;
}
