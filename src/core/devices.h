/* The devices there are, and which of them a name means. */
#ifndef CVY_DEVICES_H
#define CVY_DEVICES_H

#include "core/options.h"

/* The CPU engine: the one backend that works on host memory. */
const cvy_backend *cvy_cpu_backend(void);

/* What there is, asked for once, in the order of cvy_backends. */
enum { CVY_MOST_DEVICES = 40 };
typedef struct cvy_survey {
  const cvy_backend *backend[CVY_MOST_DEVICES];
  int32_t index[CVY_MOST_DEVICES]; /* among its backend's */
  cvy_facts facts[CVY_MOST_DEVICES];
  int32_t count;
  convoy_status failed; /* a backend could not be asked, for the first such reason; else OK */
  char why[320];        /* that reason, or that nobody was asked; else "" */
} cvy_survey;

/* All that the name in `options` could mean: where that is the CPU engine, no other backend is asked. */
void cvy_devices(const cvy_options *options, cvy_survey *out);

typedef struct cvy_device_choice {
  const cvy_backend *backend;
  int32_t index;
  convoy_device_info info;
} cvy_device_choice;

/* Which device the name in `options` means: auto, cpu, a backend's name, an id such as ocl:1, part of a
 * name; upper and lower case are the same. ERR_NOT_FOUND, or what listing failed with. */
convoy_status cvy_devices_find(const cvy_options *options, cvy_device_choice *out);

#endif
