/* An open device as OpenCL has it, and the commands in its queue. */
#ifndef CVY_OCL_ENGINE_OPENCL_QUEUE_H
#define CVY_OCL_ENGINE_OPENCL_QUEUE_H

#include "ocl/engine/opencl/errors.h"
#include "ocl/engine/runtime/runtime.h"

struct runtime_queue {
  cl_device_id device;
  cl_context context;
  cl_command_queue commands;
};

convoy_status opencl_open(const runtime_device *device, runtime_queue **out,
                          runtime_traits *traits);
void opencl_close(runtime_queue *queue);
void opencl_flush(runtime_queue *queue);
int32_t opencl_finish(runtime_queue *queue);

int32_t opencl_copy(runtime_queue *queue, runtime_place from, runtime_place to, size_t bytes);
int32_t opencl_zero(runtime_queue *queue, runtime_place at, size_t bytes);
int32_t opencl_write(runtime_queue *queue, runtime_place to, const void *from, size_t bytes,
                     runtime_event **done);
int32_t opencl_read(runtime_queue *queue, runtime_place from, void *to, size_t bytes,
                    runtime_event **done);
int32_t opencl_marker(runtime_queue *queue, runtime_event **out);
int32_t opencl_launch(runtime_queue *queue, runtime_kernel *kernel, int64_t groups, int64_t items,
                      runtime_event **done);

#endif
