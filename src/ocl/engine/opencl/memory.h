/* Device memory, and host memory that the driver knows. */
#ifndef CVY_OCL_ENGINE_OPENCL_MEMORY_H
#define CVY_OCL_ENGINE_OPENCL_MEMORY_H

#include "ocl/engine/runtime/runtime.h"

runtime_memory *opencl_memory(runtime_queue *queue, int64_t bytes, int32_t *code);
void opencl_memory_release(runtime_queue *queue, runtime_memory *memory);
int32_t opencl_memory_move(runtime_queue *queue, runtime_memory *memory);
/* [byte, byte + bytes) of a buffer as a buffer of its own. */
runtime_memory *opencl_memory_part(runtime_memory *memory, size_t byte, size_t bytes,
                                   int32_t *code);

/* A buffer over host memory that stays mapped is how OpenCL says it. */
runtime_memory *opencl_pin(runtime_queue *queue, void *memory, int64_t bytes, int32_t *code);
void opencl_unpin(runtime_queue *queue, runtime_memory *pinned, void *memory);

#endif
