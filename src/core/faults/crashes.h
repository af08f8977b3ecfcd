/* Crashes: the machine went down while a device was in use. One file each in the state folder, a
 * copy of the marker that was found. */
#ifndef CVY_CRASHES_H
#define CVY_CRASHES_H

#include "core/faults/in_use_marker.h"

#define CVY_MOST_BARRED 16
typedef struct cvy_crashes {
  int32_t count; /* with this device and driver */
  cvy_marker latest;
  char barred[CVY_MOST_BARRED][32]; /* algorithms that ran for the first time just then */
  int32_t barred_count;
} cvy_crashes;

/* Keeps what a marker of an earlier boot says; `path` names the marker. Once, however many
 * processes do the same at the same time. False if it could not be kept. */
bool cvy_crashes_add(const char *path, const cvy_marker *marker);
/* What there is for a device with its driver. */
void cvy_crashes_load(const convoy_device_info *info, cvy_crashes *out);
/* For people: a line for each that concerns devices in whose name `device` occurs (NULL: all). */
void cvy_crashes_describe(const char *device, cvy_text *text);
void cvy_crashes_forget(const char *device);
/* Whether the machine went down while the algorithm ran for the first time. */
bool cvy_crashes_bar(const cvy_crashes *crashes, const char *algorithm);

#endif
