/* An open device as OpenCL has it, with one in-order queue, and the commands in this queue. */
#ifndef CVY_OCL_ENGINE_OPENCL_QUEUE_H
#define CVY_OCL_ENGINE_OPENCL_QUEUE_H

#include "ocl/engine/opencl/errors.h"

typedef struct opencl_queue {
  cl_device_id device;
  cl_context context;
  cl_command_queue commands;
} opencl_queue;

/* On a failure the queue is only good for closing. */
convoy_status opencl_open(cl_device_id device, opencl_queue *out);
void opencl_close(opencl_queue *queue);

/* Brings what is enqueued under way. */
void opencl_flush(const opencl_queue *queue);
/* Waits for what is enqueued. */
cl_int opencl_finish(const opencl_queue *queue);

/* A place in a buffer. */
typedef struct opencl_place {
  cl_mem memory;
  size_t byte;
} opencl_place;

cl_int opencl_copy(const opencl_queue *queue, opencl_place from, opencl_place to, size_t bytes);
cl_int opencl_zero(const opencl_queue *queue, opencl_place at, size_t bytes);
/* Waits for the device; what is enqueued before is done then, too. */
cl_int opencl_write(const opencl_queue *queue, opencl_place to, const void *from, size_t bytes);
cl_int opencl_read(const opencl_queue *queue, opencl_place from, void *to, size_t bytes);
/* Does not wait: `from` must stay as it is until `done`. */
cl_int opencl_write_later(const opencl_queue *queue, opencl_place to, const void *from,
                          size_t bytes, cl_event *done);
/* An event behind everything enqueued. */
cl_int opencl_marker(const opencl_queue *queue, cl_event *out);

/* Enqueues `groups` work-groups of `items` items of a kernel. `done` may be NULL. */
cl_int opencl_launch(const opencl_queue *queue, cl_kernel kernel, int64_t groups, int64_t items,
                     cl_event *done);

#endif
