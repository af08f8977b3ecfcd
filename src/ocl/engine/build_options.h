/* Options that programs of several algorithms are compiled with. */
#ifndef CVY_OCL_ENGINE_BUILD_OPTIONS_H
#define CVY_OCL_ENGINE_BUILD_OPTIONS_H

#include "backend.h"

/* The options that cl/space.cl needs. */
void add_space(cvy_text *text, const cvy_problem *problem, bool compiled);
/* As many registers as so many items on an NVIDIA multiprocessor can have at once; elsewhere
 * nothing. */
void add_resident(cvy_text *text, const cvy_device *device, int64_t items);

#endif
