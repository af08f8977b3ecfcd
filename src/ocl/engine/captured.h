/* Captured jobs: the launches of jobs that came before, which are replayed with other arrays. */
#ifndef CVY_OCL_ENGINE_CAPTURED_H
#define CVY_OCL_ENGINE_CAPTURED_H

#include "ocl/engine/launch.h"
#include "ocl/engine/prepacked.h"

/* The arrays of a job that its launches are given; ORIGIN_FORM is a prepacked operand made of
 * input 1. */
enum {
  ORIGIN_NONE,
  ORIGIN_IN,
  ORIGIN_OUT = ORIGIN_IN + CVY_MAX_INPUTS,
  ORIGIN_SCRATCH = ORIGIN_OUT + CVY_MAX_OUTPUTS,
  ORIGIN_FORM,
  ORIGINS
};

/* One of them, `at` floats behind its start. */
typedef struct captured_array {
  int32_t origin;
  int64_t at;
} captured_array;

typedef struct captured_launch {
  launch what;
  program_kernel *kernel;
  conv_args args;
  captured_array a, b, bias, out;
} captured_launch;

/* The launches of a job. Those that write the form make it, and are needed where it is fresh. */
typedef struct captured_job {
  prepacked_form form;
  int64_t form_bytes; /* 0: there is none */
  bool makes_form;    /* else it was there when this was captured */
  int64_t scratch_bytes;
  int32_t count;
  const captured_launch *launches;
} captured_job;

/* A device's part of this module and of capture.h. */
typedef struct device_captured {
  struct captured_table *table;
  struct capture *capture; /* of the job under way; NULL: none */
} device_captured;

/* NULL: the job has not come before. The result serves until the next job is kept. */
const captured_job *captured_find(const cvy_device *device, const cvy_job *job);
/* Keeps a captured job, whose launches are copied. */
void captured_keep(cvy_device *device, const cvy_job *job, const captured_job *captured);
void captured_close(cvy_device *device);
/* Enqueues a job as before. False, with nothing enqueued: it needs more than was captured. */
bool captured_replay(cvy_device *device, const captured_job *known, const cvy_job *job,
                     const job_arrays *arrays, span scratch, convoy_status *status);

#endif
