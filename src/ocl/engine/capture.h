/* Capture: what launch code does for a job, taken down while it does so. */
#ifndef CVY_OCL_ENGINE_CAPTURE_H
#define CVY_OCL_ENGINE_CAPTURE_H

#include "ocl/engine/captured.h"

/* A job with more launches waits for the device, not for the host. */
#define CAPTURED_LAUNCHES 16

typedef struct capture {
  uint64_t packs; /* the array that a form may be made of */
  const arena_piece *pieces[ORIGINS];
  bool invalid; /* something was done that depends on more than the job */
  captured_job job;
  captured_launch launches[CAPTURED_LAUNCHES];
} capture;

/* Between begin and end, what is launched and which form is used is captured. capture_end: whether
 * all of it could be; then new->job can be kept. */
void capture_begin(cvy_device *device, capture *new, const cvy_job *job, const job_arrays *arrays,
                   const arena_piece *scratch);
bool capture_end(cvy_device *device);
void capture_launch(cvy_device *device, const launch *what, program_kernel *kernel,
                    const conv_args *args, const bindings *arrays);
void capture_form(cvy_device *device, uint64_t id, const prepacked_form *form, int64_t bytes,
                  const arena_piece *piece, bool fresh);
/* For commands that are no launches. */
void capture_invalidate(cvy_device *device);

#endif
