#include "faults.h"

#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "inside.h"

enum { STANDARD_FAILURE = -5 }; /* of rules that say fail without a number */

static const struct {
  const char *name;
  int failure; /* what it returns if no rule says something else */
} functions[] = {
    {"gpu_start", GPU_NO_DEVICE},
    {"gpu_stream", GPU_NO_MEMORY},
    {"gpu_stream_release", GPU_INVALID_HANDLE},
    {"gpu_stream_wait", GPU_LAUNCH_FAILED},
    {"gpu_stream_wait_event", GPU_LAUNCH_FAILED},
    {"gpu_memory", GPU_NO_MEMORY},
    {"gpu_memory_release", GPU_LAUNCH_FAILED},
    {"gpu_pin", GPU_NO_MEMORY},
    {"gpu_unpin", GPU_LAUNCH_FAILED},
    {"gpu_write", GPU_LAUNCH_FAILED},
    {"gpu_read", GPU_LAUNCH_FAILED},
    {"gpu_copy", GPU_LAUNCH_FAILED},
    {"gpu_fill", GPU_LAUNCH_FAILED},
    {"gpu_event", GPU_NO_MEMORY},
    {"gpu_event_record", GPU_LAUNCH_FAILED},
    {"gpu_event_query", GPU_LAUNCH_FAILED},
    {"gpu_event_wait", GPU_LAUNCH_FAILED},
    {"gpu_event_release", GPU_LAUNCH_FAILED},
    {"gpu_load", GPU_INVALID_IMAGE},
    {"gpu_unload", GPU_LAUNCH_FAILED},
    {"gpu_function", GPU_NOT_FOUND},
    {"gpu_launch", GPU_LAUNCH_FAILED},
    {NULL, 0},
};

static bool started;

const char *strike_name(int number) {
  return functions[number].name;
}

void gpu_faults_start(void) {
  started = getenv("STANDIN_FAULTS") != NULL;
  if (started) strike_start();
}

static int failure_of(const char *name, int value) {
  int i = 0;
  while (functions[i].name != NULL && strcmp(functions[i].name, name) != 0) i++;
  return value == STANDARD_FAILURE ? functions[i].failure : -value;
}

/* A failed launch stays, as in CUDA and HIP, and a card on which one has failed writes nothing any
 * more, so what was begun before is over. */
static gpu_fault fault_of(const char *name, fault due) {
  gpu_fault found = {0, FAULT_NONE};
  if (due.action == FAULT_WRONG || due.action == FAULT_ZERO) found.lie = due.action;
  if (due.action == FAULT_FAIL) found.code = failure_of(name, due.value);
  if (found.code == GPU_LAUNCH_FAILED) {
    gpu_settle();
    gpu_break(found.code);
  }
  return found;
}

int gpu_failure(const char *name) {
  return started ? fault_of(name, strike(name)).code : GPU_OK;
}

/* Behind an event that nobody sets. */
static void stall(void *stream) {
  cl_int code;
  const cl_event never = clCreateUserEvent(gpu.context, &code);
  if (never) clEnqueueBarrierWithWaitList(gpu_queue_of(stream), 1, &never, NULL);
}

gpu_fault gpu_command_fault(const char *name, void *stream) {
  const fault due = started ? strike(name) : (fault){FAULT_NONE, 0};
  if (due.action == FAULT_STALL) stall(stream);
  return fault_of(name, due);
}

int gpu_spoil(const gpu_fault *due, int code, void *at, size_t bytes, void *stream) {
  if (code || due->lie == FAULT_NONE) return code;
  code = gpu_code_of(clFinish(gpu_queue_of(stream)));
  if (!code) spoil_values(due->lie, at, NULL, bytes / sizeof(float));
  return code;
}
