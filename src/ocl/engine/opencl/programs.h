/* Compiling programs, loading and saving what was compiled, and kernels. */
#ifndef CVY_OCL_ENGINE_OPENCL_PROGRAMS_H
#define CVY_OCL_ENGINE_OPENCL_PROGRAMS_H

#include "ocl/engine/opencl/queue.h"

/* A program: pieces of source in order, ended by NULL. */
typedef struct program_source {
  const char *name;
  const char *const *parts;
} program_source;

/* Fails with what the compiler says. */
convoy_status opencl_compile(const opencl_queue *queue, const program_source *source,
                             const char *options, cl_program *out);
/* A program that was saved. NULL with a code: the driver refuses it. */
cl_program opencl_load(const opencl_queue *queue, const char *options, const void *binary,
                       size_t bytes, cl_int *code);
/* What was compiled, malloc'ed. NULL: the driver does not give it. */
void *opencl_save(cl_program program, size_t *bytes);
void opencl_program_release(cl_program program);

cl_kernel opencl_kernel(cl_program program, const char *name, cl_int *code);
void opencl_kernel_release(cl_kernel kernel);
cl_int opencl_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value);

#endif
