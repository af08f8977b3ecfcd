/* The rules that say which call fails how.
 *
 *   rules  = rule {"," rule}
 *   rule   = ENTRY ["#" N ["+"]] "=" action
 *   action = hang | stall | fail[":" CODE] | slow ":" MS | crash | abort | kill | stop | wrong | zero
 *
 * ENTRY#N is the N-th call, counted from 1; ENTRY#N+ that and all later ones; ENTRY alone is every
 * call. CODE is an OpenCL error, -5 (CL_OUT_OF_RESOURCES) by default.
 *
 *   clFinish#2=hang,clEnqueueNDRangeKernel#3+=stall,clCreateBuffer=fail:-4
 */
#ifndef FAULTS_RULES_H
#define FAULTS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fault_action {
  FAULT_NONE,
  FAULT_HANG,  /* the call never returns */
  FAULT_STALL, /* the command is accepted and never starts: a hung GPU */
  FAULT_FAIL,  /* the call returns an error and does nothing */
  FAULT_SLOW,  /* the call takes some milliseconds longer */
  FAULT_CRASH, /* a store to no memory, as a driver's bug does it */
  FAULT_ABORT,
  FAULT_KILL,  /* SIGKILL, as by the kernel's out-of-memory killer */
  FAULT_STOP,  /* SIGSTOP */
  FAULT_WRONG, /* one element of what the command produces is changed */
  FAULT_ZERO,  /* all of it is 0 */
  FAULT_ACTIONS
} fault_action;

typedef struct fault_rule {
  char entry[48];
  uint64_t first;
  bool later; /* also all later calls */
  fault_action action;
  int value; /* error code or milliseconds */
} fault_rule;

/* Reads `text` into at most `most` rules. Their number, or -1 with a sentence in `why`. */
int fault_rules_read(const char *text, fault_rule *out, int most, char *why, size_t size);
const char *fault_action_name(fault_action action);
/* Whether it makes sense for an entry point: only what is enqueued stalls, only what makes data
 * falsifies it. */
bool fault_action_fits(fault_action action, const char *entry);

#endif
