/* What the measurements that talk to the driver themselves share. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stddef.h>

/* Seconds of a monotonic clock. */
double now(void);
/* The first device whose name contains `part`, and its name; NULL: none. */
cl_device_id find_device(const char *part, char *name, size_t size);

#endif
