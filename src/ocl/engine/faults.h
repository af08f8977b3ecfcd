/* The first command that failed. Nothing is carried out from then on until the device
 * is cleared. */
#ifndef CVY_OCL_ENGINE_FAULTS_H
#define CVY_OCL_ENGINE_FAULTS_H

#include "backend.h"

/* A device's part of this module. */
typedef struct device_fault {
  uint64_t ticket; /* number of the command that failed; 0: none */
  convoy_status status;
  char sentence[512];
} device_fault;

/* Command `ticket` failed with the sentence just written. Only the first failure counts. */
void fault_record(cvy_device *device, uint64_t ticket, convoy_status status);
/* Fails with the status and sentence of the command at fault; OK if there is none. */
convoy_status fault_check(const cvy_device *device);
void fault_clear(cvy_device *device);

#endif
