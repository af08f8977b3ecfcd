/* The functions of a GPU's driver that the engine calls. CUDA's and HIP's differ in their names and
 * in few numbers, so one description serves both. They are looked up in a library that is loaded at
 * run time; nothing is linked, and no header of theirs is needed.
 *
 * Both return 0, or a number above it for an error. A pointer into device memory is a pointer
 * here; CUDA declares it as an integer of the same size. */
#ifndef CVY_OCL_ENGINE_DRIVER_CALLS_H
#define CVY_OCL_ENGINE_DRIVER_CALLS_H

#include "base/base.h"

typedef struct driver_calls {
  int (*init)(unsigned flags);
  int (*version)(int *out);
  int (*count)(int *out);
  int (*device)(int *out, int ordinal);
  int (*name)(char *to, int size, int device);
  int (*memory_bytes)(size_t *out, int device);
  int (*attribute)(int *out, int what, int device);
  int (*bus)(char *to, int size, int device);

  int (*stream)(void **out, unsigned flags);
  int (*stream_release)(void *stream);
  int (*stream_wait)(void *stream);
  int (*stream_wait_event)(void *stream, void *event, unsigned flags);
  int (*stream_recording)(void *stream, int *state); /* NULL: streams cannot be recorded */
  int (*exchange_mode)(int *mode); /* what a thread may do while a stream is recorded; or NULL */

  int (*memory)(void **out, size_t bytes);
  int (*memory_release)(void *memory);
  int (*pin)(void *memory, size_t bytes, unsigned flags);
  int (*unpin)(void *memory);

  int (*write)(void *to, const void *from, size_t bytes, void *stream);
  int (*read)(void *to, const void *from, size_t bytes, void *stream);
  int (*copy)(void *to, const void *from, size_t bytes, void *stream);
  int (*fill)(void *at, unsigned char value, size_t bytes, void *stream);

  int (*event)(void **out, unsigned flags);
  int (*event_record)(void *event, void *stream);
  int (*event_query)(void *event);
  int (*event_wait)(void *event);
  int (*event_release)(void *event);

  int (*load)(void **module, const void *image, unsigned options, int *option, void **value);
  int (*unload)(void *module);
  int (*function)(void **out, void *module, const char *name);
  int (*launch)(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared_bytes,
                void *stream, void **arguments, void **extra);
} driver_calls;

/* Numbers that are the same for both. */
enum {
  DRIVER_INVALID_VALUE = 1,
  DRIVER_NO_MEMORY = 2,
  DRIVER_NOT_READY = 600,
  DRIVER_STREAM_NON_BLOCKING = 1, /* it does not wait for the default stream */
  DRIVER_EVENT_WITHOUT_TIME = 2,
  DRIVER_MODE_RELAXED =
      2, /* what has nothing to do with the streams that are recorded is allowed */
};

/* A function's name in the library, its place in a table of pointers, and whether the library may
 * lack it. */
typedef struct driver_symbol {
  const char *name;
  size_t place;
  bool optional;
} driver_symbol;

/* Loads the first of the libraries that is there, and looks the symbols up in it; both lists end
 * with a NULL name. False: none is there, or, which is logged, a function is lacking. */
bool driver_load(const char *const *libraries, const driver_symbol *symbols, void *calls);

#endif
