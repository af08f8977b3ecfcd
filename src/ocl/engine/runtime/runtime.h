/* The seam between the engine and what it reaches devices through: a table of functions for each
 * runtime. Kernels are OpenCL C whatever the runtime, and the engine is the same.
 *
 * Handles are the runtime's own. Functions that return a code return 0, or an error of the runtime
 * below 0, which `error_name` and `fail` know; where they return a handle, NULL comes with a code.
 * Calls come from one thread at a time. */
#ifndef CVY_OCL_ENGINE_RUNTIME_H
#define CVY_OCL_ENGINE_RUNTIME_H

#include "backend.h"

typedef struct runtime runtime;
typedef struct runtime_queue runtime_queue; /* an open device with one in-order queue */
typedef struct runtime_memory runtime_memory;
typedef struct runtime_event runtime_event;
typedef struct runtime_program runtime_program;
typedef struct runtime_kernel runtime_kernel;

/* CUDA graphs and the like: commands are not carried out, but noted to be carried out later. */
typedef enum runtime_recording {
  RUNTIME_NOT_RECORDING,
  RUNTIME_RECORDING,
  RUNTIME_RECORDING_BROKEN, /* it has failed, and waits for its end */
} runtime_recording;

/* A device that there is; it can be opened. */
typedef struct runtime_device {
  const runtime *runtime;
  void *id; /* as the runtime calls it */
  cvy_facts facts;
} runtime_device;

/* What is known of a device once it is open. */
typedef struct runtime_traits {
  int64_t alignment;    /* bytes to which parts of memory must be aligned */
  bool takes_registers; /* the compiler can be told how many registers an item may have */
  bool keeps_programs;  /* the driver keeps compiled programs itself, and sooner than we */
  uint64_t compiler;    /* hash of what compiled programs depend on beside source and options */
} runtime_traits;

/* A place in memory. */
typedef struct runtime_place {
  runtime_memory *memory;
  size_t byte;
} runtime_place;

/* A program: pieces of source in order, ended by NULL. */
typedef struct program_source {
  const char *name;
  const char *const *parts;
} program_source;

struct runtime {
  const char *name; /* "ocl": prefix of its devices' ids */

  /* The devices there are, at most `capacity`; *count gets the number there are. Where the runtime
   * is not installed there are none. */
  convoy_status (*list)(runtime_device *out, int32_t capacity, int32_t *count);
  convoy_status (*open)(const runtime_device *device, runtime_queue **out, runtime_traits *traits);
  void (*close)(runtime_queue *queue);

  const char *(*error_name)(int32_t code); /* "CL_OUT_OF_RESOURCES" */
  /* Fails with "<what>: <name> (<code>)": ERR_MEMORY for the codes of exhausted memory, else
   * ERR_DEVICE. */
  convoy_status (*fail)(int32_t code, const char *what);

  /* NULL: there is no memory. */
  runtime_memory *(*memory)(runtime_queue *queue, int64_t bytes, int32_t *code);
  void (*memory_release)(runtime_queue *queue, runtime_memory *memory);
  /* Enqueues moving memory to the device, whatever it contains. */
  int32_t (*memory_move)(runtime_queue *queue, runtime_memory *memory);
  /* Tells the driver of host memory, so that transfers need no copy of it. NULL: it refuses. */
  runtime_memory *(*pin)(runtime_queue *queue, void *memory, int64_t bytes, int32_t *code);
  void (*unpin)(runtime_queue *queue, runtime_memory *pinned, void *memory);

  /* The handle of foreign memory on the device, by its address there, and the stream
   * that commands go into from now on; if `ordered`, behind all that came before. And whether what
   * goes into a stream is recorded. NULL: the runtime knows neither. */
  runtime_memory *(*memory_at)(uint64_t address);
  int32_t (*use_stream)(runtime_queue *queue, void *stream, bool ordered);
  runtime_recording (*recording)(runtime_queue *queue, void *stream);
  /* The calling thread uses the device, not through here, until it leaves. NULL: it may. */
  int32_t (*enter)(runtime_queue *queue);
  /* What the calling thread has of the runtime, false where that is not in use; and giving it back.
   * Both NULL: threads have nothing of it. */
  bool (*visit)(int32_t *number, void **context);
  void (*leave)(int32_t number, void *context);

  int32_t (*copy)(runtime_queue *queue, runtime_place from, runtime_place to, size_t bytes);
  int32_t (*zero)(runtime_queue *queue, runtime_place at, size_t bytes);
  /* Host memory must stay as it is until `done`. */
  int32_t (*write)(runtime_queue *queue, runtime_place to, const void *from, size_t bytes,
                   runtime_event **done);
  int32_t (*read)(runtime_queue *queue, runtime_place from, void *to, size_t bytes,
                  runtime_event **done);

  /* An event behind everything enqueued. */
  int32_t (*marker)(runtime_queue *queue, runtime_event **out);
  /* *state becomes 0 when what is before the event is done, more while it is under way, less, an
   * error, if it failed. */
  int32_t (*event_state)(runtime_queue *queue, runtime_event *event, int32_t *state);
  int32_t (*event_wait)(runtime_queue *queue, runtime_event *event);
  void (*event_release)(runtime_queue *queue, runtime_event *event);

  /* Fails with what the compiler says. */
  convoy_status (*compile)(runtime_queue *queue, const program_source *source, const char *options,
                           runtime_program **out);
  /* A program that was saved; an error if the driver refuses it. */
  int32_t (*load)(runtime_queue *queue, const char *options, const void *binary, size_t bytes,
                  runtime_program **out);
  /* What was compiled, malloc'ed. NULL: the driver does not give it. */
  void *(*save)(const runtime_program *program, size_t *bytes);
  void (*program_release)(runtime_queue *queue, runtime_program *program);

  runtime_kernel *(*kernel)(runtime_program *program, const char *name, int32_t *code);
  void (*kernel_release)(runtime_kernel *kernel);
  /* The value of a memory is the handle. */
  int32_t (*argument)(runtime_kernel *kernel, int32_t index, size_t bytes, const void *value);
  /* Enqueues `groups` work-groups of `items` items. `done` may be NULL. */
  int32_t (*launch)(runtime_queue *queue, runtime_kernel *kernel, int64_t groups, int64_t items,
                    runtime_event **done);

  /* Brings what is enqueued under way. */
  void (*flush)(runtime_queue *queue);
  /* Waits for what is enqueued. */
  int32_t (*finish)(runtime_queue *queue);
};

#endif
