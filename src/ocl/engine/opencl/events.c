/* Events: whether a command is done. */
#include "ocl/engine/opencl/events.h"

cl_int opencl_event_state(cl_event event, cl_int *state) {
  return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL);
}

cl_int opencl_event_wait(cl_event event) {
  return clWaitForEvents(1, &event);
}

void opencl_event_release(cl_event event) {
  clReleaseEvent(event);
}
