/* Device memory, and host memory that the driver knows. */
#ifndef CVY_OCL_ENGINE_OPENCL_MEMORY_H
#define CVY_OCL_ENGINE_OPENCL_MEMORY_H

#include "ocl/engine/opencl/queue.h"

/* A buffer. NULL with a code: there is no memory. */
cl_mem opencl_memory(const opencl_queue *queue, int64_t bytes, cl_int *code);
void opencl_memory_release(cl_mem memory);
/* Enqueues moving a buffer to the device, whatever it contains. */
cl_int opencl_memory_move(const opencl_queue *queue, cl_mem memory);
/* [byte, byte + bytes) of a buffer as a buffer of its own. */
cl_mem opencl_memory_part(cl_mem memory, size_t byte, size_t bytes, cl_int *code);

/* Tells the driver of host memory: a buffer over it that stays mapped. NULL with a code: it
 * refuses. */
cl_mem opencl_pin(const opencl_queue *queue, void *memory, int64_t bytes, cl_int *code);
void opencl_unpin(const opencl_queue *queue, cl_mem buffer, void *memory);

#endif
