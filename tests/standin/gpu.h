/* A GPU for tests, on which the libraries of CUDA and HIP are stood in for: OpenCL's device, of
 * PoCL where there is no other, behind pointers into its memory. An image is what its OpenCL's
 * compiler hands back. Every function returns 0, or an error that CUDA and HIP number alike. */
#ifndef STANDIN_GPU_H
#define STANDIN_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  GPU_OK = 0,
  GPU_INVALID_VALUE = 1,
  GPU_NO_MEMORY = 2,
  GPU_NOT_INITIALIZED = 3,
  GPU_NO_DEVICE = 100,
  GPU_INVALID_DEVICE = 101,
  GPU_INVALID_IMAGE = 200,
  GPU_INVALID_HANDLE = 400,
  GPU_NOT_FOUND = 500,
  GPU_NOT_READY = 600,
  GPU_LAUNCH_FAILED = 719,
  GPU_RECORDED = 900, /* not while the stream is recorded (record.h) */
  GPU_RECORDING_BROKEN = 901,
};

int gpu_start(void);
const char *gpu_error_name(int code); /* "NO_MEMORY"; NULL: none */

int gpu_name(char *to, int size);
int gpu_memory_bytes(size_t *out);
int gpu_units(void);
int gpu_clock(void); /* kHz */
int gpu_local_bytes(void);
int gpu_group_items(void);

/* A thread can use the device once it has said that it does, until it says that it does not. */
void gpu_enter(bool uses);
bool gpu_entered(void);

int gpu_stream(void **out);
int gpu_stream_release(void *stream);
int gpu_stream_wait(void *stream);
long gpu_waits(void); /* how often a stream was waited for */
/* The next launch fails so; so many of the next ones write nothing, and say that all is well. */
void gpu_fail_next(int code);
void gpu_skip_next(int launches);
int gpu_stream_wait_event(void *stream, void *event);

int gpu_memory(void **out, size_t bytes);
int gpu_memory_release(void *memory);
int gpu_pin(void *memory, size_t bytes);
int gpu_unpin(void *memory);

int gpu_write(void *to, const void *from, size_t bytes, void *stream);
int gpu_read(void *to, const void *from, size_t bytes, void *stream);
int gpu_copy(void *to, const void *from, size_t bytes, void *stream);
int gpu_fill(void *at, unsigned char value, size_t bytes, void *stream);

int gpu_event(void **out);
int gpu_event_record(void *event, void *stream);
int gpu_event_query(void *event);
int gpu_event_wait(void *event);
int gpu_event_release(void *event);

/* `prepared` as in image_read. */
int gpu_load(void **module, const void *image, bool prepared);
int gpu_unload(void *module);
int gpu_function(void **out, void *module, const char *name);
int gpu_launch(void *function, const unsigned groups[3], const unsigned items[3], void *stream,
               void **arguments);

#endif
