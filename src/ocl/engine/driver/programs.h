/* Programs as images that a driver loads, and kernels with their arguments. */
#ifndef CVY_OCL_ENGINE_DRIVER_PROGRAMS_H
#define CVY_OCL_ENGINE_DRIVER_PROGRAMS_H

#include "ocl/engine/driver/driver.h"

convoy_status driver_compile(runtime_queue *queue, const program_source *source,
                             const char *options, runtime_program **out);
int32_t driver_load_program(runtime_queue *queue, const char *options, const void *binary,
                            size_t bytes, runtime_program **out);
void *driver_save(const runtime_program *program, size_t *bytes);
void driver_program_release(runtime_queue *queue, runtime_program *program);

runtime_kernel *driver_kernel(runtime_program *program, const char *name, int32_t *code);
void driver_kernel_release(runtime_kernel *kernel);
int32_t driver_argument(runtime_kernel *kernel, int32_t index, size_t bytes, const void *value);
int32_t driver_launch(runtime_queue *queue, runtime_kernel *kernel, int64_t groups, int64_t items,
                      runtime_event **done);

#endif
