/* Loading the OpenCL engine. */
#ifndef CVY_MODULE_H
#define CVY_MODULE_H

#include "backend.h"

/* Loads convoy-ocl.so and refuses one of another build. Never unloaded again: OpenCL drivers do not
 * survive it. */
convoy_status cvy_module_load(const char *path, const cvy_module **out);

#endif
