/* From OpenCL C to what a driver loads: a compiler that comes with the driver makes it, or the
 * card's OpenCL. */
#ifndef CVY_OCL_ENGINE_DRIVER_COMPILER_H
#define CVY_OCL_ENGINE_DRIVER_COMPILER_H

#include "ocl/engine/driver/driver.h"

/* Adds the version of the card's OpenCL, if it has one. */
void driver_compiler_version(const cvy_facts *facts, cvy_text *text);

/* Fails with a sentence if there is no compiler for the device. */
convoy_status driver_compiler_open(runtime_queue *queue, const cvy_facts *facts,
                                   runtime_traits *traits);
void driver_compiler_close(runtime_queue *queue);
/* An image, malloc'ed; fails with what the compiler says. */
convoy_status driver_compiler_run(runtime_queue *queue, const program_source *source,
                                  const char *options, void **image, size_t *bytes);

#endif
