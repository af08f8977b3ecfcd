/* What CUDA's driver and HIP differ in beside the names of their functions, and what the engine
 * does with either. */
#ifndef CVY_OCL_ENGINE_DRIVER_DRIVER_H
#define CVY_OCL_ENGINE_DRIVER_DRIVER_H

#include "ocl/engine/driver/calls.h"
#include "ocl/engine/runtime/runtime.h"

typedef struct gpu_driver gpu_driver;

/* Makes images of OpenCL C for a device. */
typedef struct driver_compiler {
  char target[128];      /* what the driver's own compiler compiles for; "": there is none */
  runtime_queue *opencl; /* in its place: the same card's OpenCL */
} driver_compiler;

struct gpu_driver {
  const char *name;     /* "cuda": prefix of the ids of its devices */
  const char *platform; /* "CUDA" */
  enum cvy_runtime runtime;
  int units, clock, local_memory, work_group, width; /* attributes' numbers */
  int major, minor;                                  /* what they count in a version's number */

  /* NULL: it is not installed, or does not work, which is logged. Asked again it answers the
   * same. */
  const driver_calls *(*calls)(void);
  const char *(*error_name)(int code);
  /* Makes what is between the driver and one device; `context` goes into the other two. */
  int (*open)(int device, void **context);
  void (*close)(int device, void *context);
  /* What a thread does before it calls the driver for a device. */
  int (*enter)(int device, void *context);

  /* The chip that a device has, which OpenCL puts before the card's name; "" where it is not known.
   * NULL: OpenCL does not name it either. */
  void (*chip)(int device, char *to, size_t size);
  /* Whether the driver can compile without OpenCL: writes what for, and changes `hash`, which is
   * that of all that compiled programs depend on. */
  bool (*target)(int device, char *to, size_t size, uint64_t *hash);
  /* Compiles an image, malloc'ed; NULL: never asked. */
  convoy_status (*compile)(const char *target, const program_source *source, const char *options,
                           void **image, size_t *bytes);
  /* Makes what was compiled fit to be loaded, in place; NULL: it is. */
  convoy_status (*prepare)(char *image);
};

struct runtime_queue {
  const gpu_driver *driver;
  const driver_calls *calls;
  int device;
  void *context, *stream; /* where commands go: its own, or a framework's */
  void *own_stream;
  bool recorded; /* a framework may have recorded launches, and carry them out later than we live */
  driver_compiler compiler;
};

/* The driver's context is current on this thread from then on. */
static inline int32_t driver_enter(const runtime_queue *queue) {
  return -queue->driver->enter(queue->device, queue->context);
}

const char *driver_error_name(const gpu_driver *driver, int32_t code);
convoy_status driver_fail(const gpu_driver *driver, int32_t code, const char *what);

#endif
