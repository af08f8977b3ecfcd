/* Which calls are struck, and the faults that need no arguments. Whoever has functions that shall
 * fail, as the OpenCL layer has, names them and asks at the beginning of each. */
#ifndef FAULTS_STRIKE_H
#define FAULTS_STRIKE_H

#include "rules.h"

/* The names of all functions that can be struck, by whoever links this; NULL behind the last. */
const char *strike_name(int number);

/* Maps the file that CONVOY_FAULT_FILE names, and reads CONVOY_FAULT. A mistake there ends the
 * process with a sentence: a fault that silently does not strike would make its test worthless. */
void strike_start(void);

/* Counts a call. What does not need the call's arguments is carried out here and does not come
 * back: only FAULT_NONE, FAULT_FAIL, FAULT_STALL, FAULT_WRONG and FAULT_ZERO are returned. */
typedef struct fault {
  fault_action action;
  int value;
} fault;
fault strike(const char *name);

/* Changes `count` floats, of which those that differ from `before` are a command's output; all of
 * them if `before` is NULL. */
void spoil_values(fault_action action, float *values, const float *before, size_t count);

#endif
