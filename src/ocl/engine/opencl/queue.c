/* The commands that the engine enqueues. */
#include "ocl/engine/opencl/queue.h"

#include <stdlib.h>

#include "ocl/engine/opencl/devices.h"

static convoy_status open_in(const runtime_device *device, runtime_queue *queue) {
  cl_int code;
  queue->device = device->id;
  queue->context = clCreateContext(NULL, 1, &queue->device, NULL, NULL, &code);
  if (!queue->context) return opencl_fail(code, "cannot create an OpenCL context");
  queue->commands = clCreateCommandQueue(queue->context, queue->device, 0, &code);
  return queue->commands ? CONVOY_OK : opencl_fail(code, "cannot create an OpenCL queue");
}

convoy_status opencl_open(const runtime_device *device, runtime_queue **out,
                          runtime_traits *traits) {
  runtime_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for an OpenCL queue");
  convoy_status status = open_in(device, queue);
  if (status) {
    opencl_close(queue);
    return status;
  }
  opencl_traits(device, traits);
  *out = queue;
  return CONVOY_OK;
}

void opencl_close(runtime_queue *queue) {
  if (queue->commands) clReleaseCommandQueue(queue->commands);
  if (queue->context) clReleaseContext(queue->context);
  free(queue);
}

void opencl_flush(runtime_queue *queue) {
  clFlush(queue->commands);
}

int32_t opencl_finish(runtime_queue *queue) {
  return clFinish(queue->commands);
}

int32_t opencl_copy(runtime_queue *queue, runtime_place from, runtime_place to, size_t bytes) {
  return clEnqueueCopyBuffer(queue->commands, (cl_mem)from.memory, (cl_mem)to.memory, from.byte,
                             to.byte, bytes, 0, NULL, NULL);
}

int32_t opencl_zero(runtime_queue *queue, runtime_place at, size_t bytes) {
  cl_float zero = 0.0f;
  return clEnqueueFillBuffer(queue->commands, (cl_mem)at.memory, &zero, sizeof zero, at.byte, bytes,
                             0, NULL, NULL);
}

/* Hands out the event that a command made. */
static int32_t made(int32_t code, cl_event event, runtime_event **out) {
  if (code == CL_SUCCESS) *out = (runtime_event *)event;
  return code;
}

int32_t opencl_write(runtime_queue *queue, runtime_place to, const void *from, size_t bytes,
                     runtime_event **done) {
  cl_event event = NULL;
  cl_int code = clEnqueueWriteBuffer(queue->commands, (cl_mem)to.memory, CL_FALSE, to.byte, bytes,
                                     from, 0, NULL, &event);
  return made(code, event, done);
}

int32_t opencl_read(runtime_queue *queue, runtime_place from, void *to, size_t bytes,
                    runtime_event **done) {
  cl_event event = NULL;
  cl_int code = clEnqueueReadBuffer(queue->commands, (cl_mem)from.memory, CL_FALSE, from.byte,
                                    bytes, to, 0, NULL, &event);
  return made(code, event, done);
}

int32_t opencl_marker(runtime_queue *queue, runtime_event **out) {
  cl_event event = NULL;
  cl_int code = clEnqueueMarkerWithWaitList(queue->commands, 0, NULL, &event);
  return made(code, event, out);
}

int32_t opencl_launch(runtime_queue *queue, runtime_kernel *kernel, int64_t groups, int64_t items,
                      runtime_event **done) {
  size_t local = (size_t)items, global = (size_t)groups * local;
  cl_event event = NULL;
  cl_int code = clEnqueueNDRangeKernel(queue->commands, (cl_kernel)kernel, 1, NULL, &global, &local,
                                       0, NULL, done ? &event : NULL);
  return done ? made(code, event, done) : code;
}
