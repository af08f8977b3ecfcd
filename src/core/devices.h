/* The devices there are, and which of them a name means. */
#ifndef CVY_DEVICES_H
#define CVY_DEVICES_H

#include "core/options.h"

/* The CPU engine: the one backend that works on host memory. */
const cvy_backend *cvy_cpu_backend(void);

/* Facts of all devices, in the order of cvy_backends. *count gets the number there are; `why` the reason
 * why a backend could not be asked, else "". */
void cvy_devices(const cvy_open_options *options, cvy_facts *out, int32_t capacity, int32_t *count,
                 char *why, size_t why_size);

typedef struct cvy_device_choice {
  const cvy_backend *backend;
  int32_t index;
  convoy_device_info info;
} cvy_device_choice;

/* Which device `wanted` means: auto, cpu, a backend's name, an id such as ocl:1, part of a name.
 * ERR_NOT_FOUND, or what listing failed with. With "cpu" no other backend is asked. */
convoy_status cvy_devices_find(const char *wanted, const cvy_open_options *options,
                               cvy_device_choice *out);

#endif
