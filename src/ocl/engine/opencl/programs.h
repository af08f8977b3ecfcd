/* Compiling programs, loading and saving what was compiled, and kernels. */
#ifndef CVY_OCL_ENGINE_OPENCL_PROGRAMS_H
#define CVY_OCL_ENGINE_OPENCL_PROGRAMS_H

#include "ocl/engine/runtime/runtime.h"

convoy_status opencl_compile(runtime_queue *queue, const program_source *source,
                             const char *options, runtime_program **out);
int32_t opencl_load(runtime_queue *queue, const char *options, const void *binary, size_t bytes,
                    runtime_program **out);
void *opencl_save(const runtime_program *program, size_t *bytes);
void opencl_program_release(runtime_queue *queue, runtime_program *program);

runtime_kernel *opencl_kernel(runtime_program *program, const char *name, int32_t *code);
void opencl_kernel_release(runtime_kernel *kernel);
int32_t opencl_argument(runtime_kernel *kernel, int32_t index, size_t bytes, const void *value);

#endif
