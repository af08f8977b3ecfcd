/* Buffers over device memory and over host memory. */
#include "ocl/engine/opencl/memory.h"

cl_mem opencl_memory(const opencl_queue *queue, int64_t bytes, cl_int *code) {
  return clCreateBuffer(queue->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, code);
}

void opencl_memory_release(cl_mem memory) {
  clReleaseMemObject(memory);
}

cl_int opencl_memory_move(const opencl_queue *queue, cl_mem memory) {
  return clEnqueueMigrateMemObjects(queue->commands, 1, &memory,
                                    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
}

cl_mem opencl_memory_part(cl_mem memory, size_t byte, size_t bytes, cl_int *code) {
  cl_buffer_region region = {byte, bytes};
  return clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, code);
}

static cl_int map_for_good(const opencl_queue *queue, cl_mem buffer, void *memory, int64_t bytes) {
  cl_int code;
  void *at = clEnqueueMapBuffer(queue->commands, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                (size_t)bytes, 0, NULL, NULL, &code);
  return code == CL_SUCCESS && at != memory ? CL_MAP_FAILURE : code;
}

cl_mem opencl_pin(const opencl_queue *queue, void *memory, int64_t bytes, cl_int *code) {
  cl_mem buffer = clCreateBuffer(queue->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                 (size_t)bytes, memory, code);
  if (!buffer) return NULL;
  *code = map_for_good(queue, buffer, memory, bytes);
  if (*code == CL_SUCCESS) return buffer;
  clReleaseMemObject(buffer);
  return NULL;
}

void opencl_unpin(const opencl_queue *queue, cl_mem buffer, void *memory) {
  clEnqueueUnmapMemObject(queue->commands, buffer, memory, 0, NULL, NULL);
  clFinish(queue->commands);
  clReleaseMemObject(buffer);
}
