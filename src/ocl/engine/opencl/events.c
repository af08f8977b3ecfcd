/* Events: whether a command is done. OpenCL's states are those of the seam. */
#include "ocl/engine/opencl/events.h"

#include "ocl/engine/opencl/errors.h"

_Static_assert(CL_COMPLETE == 0 && CL_RUNNING > CL_COMPLETE, "as runtime.h has it");

int32_t opencl_event_state(runtime_queue *queue, runtime_event *event, int32_t *state) {
  (void)queue;
  return clGetEventInfo((cl_event)event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state,
                        NULL);
}

int32_t opencl_event_wait(runtime_queue *queue, runtime_event *event) {
  (void)queue;
  const cl_event waited = (cl_event)event;
  return clWaitForEvents(1, &waited);
}

void opencl_event_release(runtime_queue *queue, runtime_event *event) {
  (void)queue;
  clReleaseEvent((cl_event)event);
}
