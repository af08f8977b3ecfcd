/* Capture: what launch code does for a job, taken down while it does so. */
#ifndef CVY_OCL_ENGINE_CAPTURE_H
#define CVY_OCL_ENGINE_CAPTURE_H

#include "ocl/engine/captured.h"

/* A job with more launches waits for the device, not for the host. */
#define CAPTURED_LAUNCHES 16
/* Enough for that many launches of a convolution, and for those of a reduction. */
#define CAPTURED_ARRAYS 64
#define CAPTURED_WORDS 1024

typedef struct capture {
  uint64_t packs;        /* the array that a form may be made of */
  int64_t base[ORIGINS]; /* where the job's arrays begin */
  bool invalid;          /* something was done that depends on more than the job */
  captured_job job;
  captured_launch launches[CAPTURED_LAUNCHES];
  captured_array arrays[CAPTURED_ARRAYS];
  uint64_t blocks[CAPTURED_WORDS];
} capture;

/* Between begin and end, what is launched and which form is used is captured. capture_end: whether
 * all of it could be; then new->job can be kept. */
void capture_begin(cvy_device *device, capture *new, const cvy_job *job, const job_sizes *sizes,
                   const job_arrays *arrays, int64_t scratch_bytes);
bool capture_end(cvy_device *device);
void capture_launch(cvy_device *device, const launch *what, program_kernel *kernel,
                    const arguments *with);
void capture_form(cvy_device *device, uint64_t id, const prepacked_form *form, int64_t bytes,
                  span at, bool fresh);
/* For commands that are no launches. */
void capture_invalidate(cvy_device *device);

#endif
