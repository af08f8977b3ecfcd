/* Wrong data. What a kernel writes is not known from its arguments, so its buffers are read before
 * and after: what differs is its output. */
#include "layer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORIES = 1024, ARGUMENTS = 4096, BOUND = 16 };

typedef struct argument {
  cl_kernel kernel;
  cl_uint index;
  cl_mem memory;
} argument;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_mem memories[MEMORIES];
static argument arguments[ARGUMENTS];
static int memory_count, argument_count;

/* ---------------------------------------------------------------------------- notes */

static int find_memory(cl_mem memory) {
  int i = 0;
  while (i < memory_count && memories[i] != memory) i++;
  return i;
}

void spoil_note_memory(cl_mem memory) {
  pthread_mutex_lock(&lock);
  if (memory && memory_count < MEMORIES) memories[memory_count++] = memory;
  pthread_mutex_unlock(&lock);
}

void spoil_forget_memory(cl_mem memory) {
  pthread_mutex_lock(&lock);
  const int i = find_memory(memory);
  if (i < memory_count) memories[i] = memories[--memory_count];
  pthread_mutex_unlock(&lock);
}

static argument *find_argument(cl_kernel kernel, cl_uint index) {
  for (int i = 0; i < argument_count; i++)
    if (arguments[i].kernel == kernel && arguments[i].index == index) return &arguments[i];
  return argument_count < ARGUMENTS ? &arguments[argument_count++] : NULL;
}

/* A value of a pointer's size that is no buffer we know is a number. */
void spoil_note_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
  cl_mem memory;
  if (bytes != sizeof memory || !value) return;
  memcpy(&memory, value, sizeof memory);
  pthread_mutex_lock(&lock);
  argument *place = find_memory(memory) < memory_count ? find_argument(kernel, index) : NULL;
  if (place) *place = (argument){kernel, index, memory};
  pthread_mutex_unlock(&lock);
}

void spoil_forget_kernel(cl_kernel kernel) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < argument_count;) {
    if (arguments[i].kernel == kernel)
      arguments[i] = arguments[--argument_count];
    else
      i++;
  }
  pthread_mutex_unlock(&lock);
}

/* The kernel's buffers, each once. */
static int bound(cl_kernel kernel, cl_mem out[BOUND]) {
  int count = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < argument_count; i++) {
    bool is_new = arguments[i].kernel == kernel && count < BOUND;
    for (int j = 0; j < count && is_new; j++) is_new = out[j] != arguments[i].memory;
    if (is_new) out[count++] = arguments[i].memory;
  }
  pthread_mutex_unlock(&lock);
  return count;
}

/* ------------------------------------------------------------------- device memory */

static float *read_memory(cl_command_queue queue, cl_mem memory, size_t at, size_t bytes) {
  float *values = malloc(bytes);
  if (!values) return NULL;
  if (below.clEnqueueReadBuffer(queue, memory, CL_TRUE, at, bytes, values, 0, NULL, NULL) ==
      CL_SUCCESS)
    return values;
  free(values);
  return NULL;
}

cl_int spoil_memory(fault_action action, cl_command_queue queue, cl_mem memory, size_t at,
                    size_t bytes) {
  float *values = read_memory(queue, memory, at, bytes);
  if (!values) return CL_OUT_OF_HOST_MEMORY;
  spoil_values(action, values, NULL, bytes / sizeof *values);
  const cl_int code =
      below.clEnqueueWriteBuffer(queue, memory, CL_TRUE, at, bytes, values, 0, NULL, NULL);
  free(values);
  return code;
}

typedef struct snapshot {
  cl_mem memory;
  size_t bytes;
  float *before;
} snapshot;

static bool take(cl_command_queue queue, snapshot *of) {
  if (below.clGetMemObjectInfo(of->memory, CL_MEM_SIZE, sizeof of->bytes, &of->bytes, NULL))
    return false;
  of->before = read_memory(queue, of->memory, 0, of->bytes);
  return of->before != NULL;
}

static cl_int spoil_since(fault_action action, cl_command_queue queue, const snapshot *then) {
  float *now = read_memory(queue, then->memory, 0, then->bytes);
  if (!now) return CL_OUT_OF_HOST_MEMORY;
  spoil_values(action, now, then->before, then->bytes / sizeof *now);
  const cl_int code =
      below.clEnqueueWriteBuffer(queue, then->memory, CL_TRUE, 0, then->bytes, now, 0, NULL, NULL);
  free(now);
  return code;
}

cl_int spoil_kernel(fault_action action, const kernel_call *call) {
  snapshot taken[BOUND] = {{0}};
  cl_mem memory[BOUND];
  const int count = bound(call->kernel, memory);
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < count && code == CL_SUCCESS; i++) {
    taken[i].memory = memory[i];
    if (!take(call->queue, &taken[i])) code = CL_OUT_OF_HOST_MEMORY;
  }
  if (code == CL_SUCCESS)
    code = below.clEnqueueNDRangeKernel(call->queue, call->kernel, call->dims, call->offset,
                                        call->global, call->local, 0, NULL, NULL);
  for (int i = 0; i < count; i++) {
    if (code == CL_SUCCESS) code = spoil_since(action, call->queue, &taken[i]);
    free(taken[i].before);
  }
  return code;
}
