/* Trust in a device, and its withdrawal: which results are verified and how, what it may cost, what
 * follows from a fault (docs/failover.md). */
#ifndef CVY_TRUST_H
#define CVY_TRUST_H

#include "core/choose.h"

typedef struct cvy_store cvy_store;
typedef struct cvy_op cvy_op;

/* What a context knows about its device's results. Operations on the device count from 1. */
typedef struct cvy_trust {
  int64_t operations;
  int64_t verified;         /* number of the last one found right, 0: none */
  uint64_t verified_ticket; /* of its command */
  cvy_problem verified_problem;
  int32_t every;       /* one of so many operations is sampled */
  int32_t nesting;     /* verifying one result may need another */
  double since, spent; /* seconds: begin of the time looked back on, spent sampling since then */
  /* Classes whose step down has been reported: more than a network has, or with each operation
   * that goes round them the oldest would be news again. */
  uint64_t told[512];
  int32_t told_next;
} cvy_trust;

/* The device is open: loads the record of faults. */
void cvy_trust_begin(convoy_context *context);

/* Whether the operation may run on the device; false with one report for each class of shapes that is
 * left to the CPU, because of the faults recorded. */
bool cvy_trust_allows(convoy_context *context, const cvy_op *op);
/* The device takes none of the operation's class: true the first time, when it is to be reported. */
bool cvy_trust_refused(convoy_context *context, const cvy_problem *problem);
/* The device is about to carry out the operation for `out`: numbers it, and notes whether it is the
 * first of its algorithm, parameters and shape class in this process. */
void cvy_trust_number(convoy_context *context, const cvy_op *op, const cvy_choice *choice,
                      cvy_store *out);

/* Whether `values`, read from the device, are what the store's history says: as much of it as the
 * option verify asks for. ERR_WRONG has been reported, and the device copies of all suspects are gone.
 * May fail as fetching a store does, since what it was computed from has to be on the host. */
convoy_status cvy_trust_result(cvy_store *store, const float *values);

/* A command of the device failed: a strike against the operation it belongs to, or against the device
 * if it belongs to none. Call before the stores lose their device copies. */
void cvy_trust_fault(convoy_context *context, uint64_t ticket, convoy_status status,
                     const char *sentence);

#endif
