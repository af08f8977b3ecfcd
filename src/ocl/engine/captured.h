/* Captured jobs: the launches of jobs that came before, which are replayed with other arrays. */
#ifndef CVY_OCL_ENGINE_CAPTURED_H
#define CVY_OCL_ENGINE_CAPTURED_H

#include "ocl/engine/launch.h"
#include "ocl/engine/prepacked.h"

/* An array of a launch: the job's it lies in, and where there. */
typedef struct captured_array {
  int32_t origin;
  int16_t word, shift; /* as in launch_array */
  int64_t at;          /* floats behind the start of the job's */
} captured_array;

typedef struct captured_launch {
  launch what;
  program_kernel *kernel;
  int32_t words, first_group, stream, count; /* as in arguments */
  int32_t arrays_at, block_at; /* where in the job's arrays and blocks its own begin */
  bool writes_form;
} captured_launch;

/* The launches of a job. Those that write the form make it, and are needed where it is fresh. */
typedef struct captured_job {
  prepacked_form form;
  job_sizes sizes;
  int64_t form_bytes; /* 0: there is none */
  bool makes_form;    /* else it was there when this was captured */
  int64_t scratch_bytes;
  int64_t most_at; /* how far behind the start of its memory an array may begin, in floats, for the
                      words of the blocks to hold it */
  int32_t count, array_count, block_words;
  const captured_launch *launches;
  const captured_array *arrays; /* of all launches */
  uint64_t *blocks;             /* their argument blocks, filled in anew for each replay */
} captured_job;

/* A device's part of this module and of capture.h. */
typedef struct device_captured {
  struct captured_table *table;
  struct capture *capture; /* of the job under way; NULL: none */
  uint64_t closed;         /* times that all was forgotten */
} device_captured;

/* NULL: the job has not come before, or cannot be replayed; which random numbers it draws does not
 * count. The result serves until the next job is kept. */
const captured_job *captured_find(const cvy_device *device, const cvy_job *job);
/* Whether the job has come before: its programs are compiled, its kernels have been timed. */
bool captured_has_come(const cvy_device *device, const cvy_job *job);
/* Takes over a captured job, to be found by the jobs that come; or, with NULL, notes that the job
 * has come. */
void captured_keep(cvy_device *device, const cvy_job *job, captured_job *captured);
/* A copy of a captured job with its launches, one block of memory, to be freed; NULL: no memory. */
captured_job *captured_copy(const captured_job *captured);
/* Forgets all, also what others than the table keep: kernels are about to go. */
void captured_close(cvy_device *device);
/* Enqueues a job as before, with its own arrays and its workspace. False, with nothing enqueued: it
 * needs more than was captured. */
bool captured_replay(cvy_device *device, const captured_job *known, const cvy_job *job,
                     job_arrays *arrays, convoy_status *status);

#endif
