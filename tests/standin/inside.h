/* What the stood-in GPU's own files share. */
#ifndef STANDIN_INSIDE_H
#define STANDIN_INSIDE_H

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct gpu_inside {
  cl_device_id device;
  cl_context context;
  bool any_memory; /* STANDIN_ANY_MEMORY */
  bool idle;       /* STANDIN_IDLE: launches do nothing, and take no time */
} gpu_inside;
extern gpu_inside gpu;

typedef struct memory {
  char *at;
  size_t bytes;
  cl_mem buffer;
} memory;

int gpu_code_of(cl_int code);
/* From now on everything fails so. */
void gpu_break(int code);
/* Waits for all that streams have begun. */
void gpu_settle(void);
/* 0, or why this thread may do nothing; the second also while others record. */
int gpu_refused(void);
int gpu_refused_now(void);
int gpu_find_memory(const void *at, size_t bytes, memory *out);
cl_command_queue gpu_queue_of(void *stream);
/* What a command returns that OpenCL has taken so. */
int gpu_enqueued(cl_int code, void *stream);

#endif
