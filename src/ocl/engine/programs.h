/* Programs of a device and their kernels: built at first use, from the disk cache where it has
 * them. */
#ifndef CVY_OCL_ENGINE_PROGRAMS_H
#define CVY_OCL_ENGINE_PROGRAMS_H

#include "backend.h"
#include "ocl/engine/runtime/runtime.h"

/* Room for the options of a program. */
#define PROGRAM_OPTIONS 640

/* A device's part of this module. */
typedef struct device_programs {
  struct program_entry *first;
  int64_t compiled, cached; /* how many were compiled here, and taken from the disk cache */
  double build_wait;        /* seconds to wait for another process that compiles the same program */
  bool dry_run;    /* launch code runs for its programs alone: nothing is allocated or enqueued */
  bool for_others; /* then: they are left in the cache alone, and not kept here */
} device_programs;

/* Operations per second of a kernel that was not measured yet: a tenth of what a slow card does. */
#define SLOW_RATE 20e9

/* A kernel, and how fast it has been recently in operations per second: a guess for a slow card
 * until it has been measured. */
typedef struct program_kernel {
  runtime_kernel *kernel;
  double rate;
} program_kernel;

/* A kernel of a program, which is built or taken from memory or disk at first use. The device owns
 * it. */
convoy_status find_kernel(cvy_device *device, const program_source *source, const char *options,
                          const char *kernel, program_kernel **out);
/* A program of a dry run: what find_kernel will ask for; or for others it is left in the disk
 * cache, unless it is there or another process is about to. */
convoy_status prepare_program(cvy_device *device, const program_source *source,
                              const char *options);
/* Forgets the programs of a source, of which no kernel is under way. */
void programs_drop(cvy_device *device, const program_source *source);
void programs_close(cvy_device *device);

#endif
