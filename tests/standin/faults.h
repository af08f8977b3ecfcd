/* The stood-in GPU's functions as faults/layer/rules.h makes them fail, with STANDIN_FAULTS: what
 * else is struck, as by `convoy soak`, are the functions of OpenCL that these call. */
#ifndef STANDIN_FAULTS_H
#define STANDIN_FAULTS_H

#include <stddef.h>

#include "faults/layer/strike.h"

/* Once, before any of the others. */
void gpu_faults_start(void);

/* Counts a call of a function of gpu.h. What it is to return instead of doing anything, or 0. */
int gpu_failure(const char *name);

/* The same for a command, which may also never begin, or make wrong values. */
typedef struct gpu_fault {
  int code;
  fault_action lie; /* FAULT_NONE, FAULT_WRONG or FAULT_ZERO */
} gpu_fault;
gpu_fault gpu_command_fault(const char *name, void *stream);

/* What the command returns that OpenCL has taken with `code` and that writes there; behind it the
 * values have been changed, if they were to be. */
int gpu_spoil(const gpu_fault *due, int code, void *at, size_t bytes, void *stream);

#endif
