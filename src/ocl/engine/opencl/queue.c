/* The commands that the engine enqueues. */
#include "ocl/engine/opencl/queue.h"

convoy_status opencl_open(cl_device_id device, opencl_queue *out) {
  cl_int code;
  out->device = device;
  out->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  if (!out->context) return opencl_fail(code, "cannot create an OpenCL context");
  out->commands = clCreateCommandQueue(out->context, device, 0, &code);
  return out->commands ? CONVOY_OK : opencl_fail(code, "cannot create an OpenCL queue");
}

void opencl_close(opencl_queue *queue) {
  if (queue->commands) clReleaseCommandQueue(queue->commands);
  if (queue->context) clReleaseContext(queue->context);
}

void opencl_flush(const opencl_queue *queue) {
  clFlush(queue->commands);
}

cl_int opencl_finish(const opencl_queue *queue) {
  return clFinish(queue->commands);
}

cl_int opencl_copy(const opencl_queue *queue, opencl_place from, opencl_place to, size_t bytes) {
  return clEnqueueCopyBuffer(queue->commands, from.memory, to.memory, from.byte, to.byte, bytes, 0,
                             NULL, NULL);
}

cl_int opencl_zero(const opencl_queue *queue, opencl_place at, size_t bytes) {
  cl_float zero = 0.0f;
  return clEnqueueFillBuffer(queue->commands, at.memory, &zero, sizeof zero, at.byte, bytes, 0,
                             NULL, NULL);
}

cl_int opencl_write(const opencl_queue *queue, opencl_place to, const void *from, size_t bytes) {
  return clEnqueueWriteBuffer(queue->commands, to.memory, CL_TRUE, to.byte, bytes, from, 0, NULL,
                              NULL);
}

cl_int opencl_read(const opencl_queue *queue, opencl_place from, void *to, size_t bytes) {
  return clEnqueueReadBuffer(queue->commands, from.memory, CL_TRUE, from.byte, bytes, to, 0, NULL,
                             NULL);
}

cl_int opencl_write_later(const opencl_queue *queue, opencl_place to, const void *from,
                          size_t bytes, cl_event *done) {
  return clEnqueueWriteBuffer(queue->commands, to.memory, CL_FALSE, to.byte, bytes, from, 0, NULL,
                              done);
}

cl_int opencl_marker(const opencl_queue *queue, cl_event *out) {
  return clEnqueueMarkerWithWaitList(queue->commands, 0, NULL, out);
}

cl_int opencl_launch(const opencl_queue *queue, cl_kernel kernel, int64_t groups, int64_t items,
                     cl_event *done) {
  size_t local = (size_t)items, global = (size_t)groups * local;
  return clEnqueueNDRangeKernel(queue->commands, kernel, 1, NULL, &global, &local, 0, NULL, done);
}
