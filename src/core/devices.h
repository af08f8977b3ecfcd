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
  bool asked;           /* false: the name means the CPU engine, so no other backend was */
  convoy_status failed; /* a backend could not be asked, for the first such reason; else OK */
  char why[320];        /* that reason, or that none was asked; else "" */
} cvy_survey;

/* All that the name in `options` could mean: where that is the CPU engine, no other backend is
 * asked. What others show is remembered (core/roster_file.h). */
void cvy_devices(const cvy_options *options, cvy_survey *out);
/* Why there may be more devices than were seen, and which this machine has had; "" if there is
 * nothing to say. */
void cvy_devices_missing(const cvy_survey *seen, char *text, size_t size);

typedef struct cvy_device_choice {
  const cvy_backend *backend; /* NULL: none */
  int32_t index;
  convoy_device_info info; /* also of a device that is gone, as far as it is remembered */
  bool mistaken;           /* nothing is called so, nor ever was on this machine */
  bool makeshift;          /* the CPU engine, because `auto` found no GPU */
  char why[320];           /* why it is this one */
} cvy_device_choice;

/* Which device the name in `options` means: auto, cpu, a backend's name, an id such as ocl:1, part
 * of a name; upper and lower case are the same. ERR_NOT_FOUND if there is none; ERR_DEVICE, or what
 * listing failed with, if this machine has had one. */
convoy_status cvy_devices_find(const cvy_options *options, cvy_device_choice *out);

#endif
