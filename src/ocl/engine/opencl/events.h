/* Events: whether a command is done. */
#ifndef CVY_OCL_ENGINE_OPENCL_EVENTS_H
#define CVY_OCL_ENGINE_OPENCL_EVENTS_H

#include "ocl/engine/opencl/errors.h"

/* *state becomes CL_COMPLETE, more while the command is under way, less if it failed. */
cl_int opencl_event_state(cl_event event, cl_int *state);
cl_int opencl_event_wait(cl_event event);
void opencl_event_release(cl_event event);

#endif
