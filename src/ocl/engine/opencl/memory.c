/* Buffers over device memory and over host memory. */
#include "ocl/engine/opencl/memory.h"

#include "ocl/engine/opencl/queue.h"

static runtime_memory *handle(cl_mem buffer) {
  return (runtime_memory *)buffer;
}

runtime_memory *opencl_memory(runtime_queue *queue, int64_t bytes, int32_t *code) {
  return handle(clCreateBuffer(queue->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, code));
}

void opencl_memory_release(runtime_queue *queue, runtime_memory *memory) {
  (void)queue;
  clReleaseMemObject((cl_mem)memory);
}

int32_t opencl_memory_move(runtime_queue *queue, runtime_memory *memory) {
  const cl_mem buffer = (cl_mem)memory;
  return clEnqueueMigrateMemObjects(queue->commands, 1, &buffer,
                                    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
}

runtime_memory *opencl_memory_part(runtime_memory *memory, size_t byte, size_t bytes,
                                   int32_t *code) {
  cl_buffer_region region = {byte, bytes};
  return handle(clCreateSubBuffer((cl_mem)memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                  &region, code));
}

static int32_t map_for_good(runtime_queue *queue, cl_mem buffer, void *memory, int64_t bytes) {
  cl_int code;
  void *at = clEnqueueMapBuffer(queue->commands, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                (size_t)bytes, 0, NULL, NULL, &code);
  return code == CL_SUCCESS && at != memory ? CL_MAP_FAILURE : code;
}

runtime_memory *opencl_pin(runtime_queue *queue, void *memory, int64_t bytes, int32_t *code) {
  cl_mem buffer = clCreateBuffer(queue->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                 (size_t)bytes, memory, code);
  if (!buffer) return NULL;
  *code = map_for_good(queue, buffer, memory, bytes);
  if (*code == CL_SUCCESS) return handle(buffer);
  clReleaseMemObject(buffer);
  return NULL;
}

void opencl_unpin(runtime_queue *queue, runtime_memory *pinned, void *memory) {
  clEnqueueUnmapMemObject(queue->commands, (cl_mem)pinned, memory, 0, NULL, NULL);
  clFinish(queue->commands);
  clReleaseMemObject((cl_mem)pinned);
}
