/* Finds a device by a part of its name, and tells the time. */
#include "device.h"

#include <string.h>
#include <time.h>

enum { PLATFORMS = 8, DEVICES = 16 };

double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

cl_device_id find_device(const char *part, char *name, size_t size) {
  cl_platform_id platforms[PLATFORMS];
  cl_uint platform_count = 0;
  clGetPlatformIDs(PLATFORMS, platforms, &platform_count);
  for (cl_uint p = 0; p < platform_count && p < PLATFORMS; p++) {
    cl_device_id devices[DEVICES];
    cl_uint count = 0;
    clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES, devices, &count);
    for (cl_uint d = 0; d < count && d < DEVICES; d++) {
      clGetDeviceInfo(devices[d], CL_DEVICE_NAME, size, name, NULL);
      if (strstr(name, part)) return devices[d];
    }
  }
  return NULL;
}
