/* Events: whether a command is done. */
#ifndef CVY_OCL_ENGINE_OPENCL_EVENTS_H
#define CVY_OCL_ENGINE_OPENCL_EVENTS_H

#include "ocl/engine/runtime/runtime.h"

int32_t opencl_event_state(runtime_queue *queue, runtime_event *event, int32_t *state);
int32_t opencl_event_wait(runtime_queue *queue, runtime_event *event);
void opencl_event_release(runtime_queue *queue, runtime_event *event);

#endif
