/* Sources of generated kernels. Programs are known by their source, so equal texts are one source:
 * each is kept, by its text, until there are too many. */
#ifndef CVY_OCL_ENGINE_GENERATED_H
#define CVY_OCL_ENGINE_GENERATED_H

#include "backend.h"
#include "ocl/engine/runtime/runtime.h"

/* So many at a time. One more, and all of them are forgotten with their programs and the jobs that
 * use these: a program with so many does not come back to the first. The disk cache keeps what was
 * compiled. */
#define MOST_GENERATED 512

/* A device's part of this module. */
typedef struct device_generated {
  struct generated_source *first;
  int32_t count;
  char *room; /* where texts are written */
} device_generated;

/* An empty text for a new source; it serves until the next one is asked for. */
convoy_status generated_begin(cvy_device *device, cvy_text *out);
/* The source of this text behind `parts`, which are constant and ended by NULL. Its name is that of
 * the problem's program. It serves until the next is asked for, and as long as a job is launched.
 */
convoy_status generated_source(cvy_device *device, const cvy_problem *problem,
                               const char *const *parts, const cvy_text *text,
                               const program_source **out);
void generated_close(cvy_device *device);

#endif
