/* One call of one algorithm: every promise of the header about its result. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include "workload.h"

typedef enum outcome { RAN, REFUSED, FAILED } outcome;

typedef struct subject {
  convoy_context *context;
  const convoy_device_info *device;
  const char *algorithm; /* already set on the context */
} subject;

/* Runs the operation twice and compares with `expected`; on FAILED `what` says why. A refusal must
 * be announced by convoy_plan_problem with a reason and leave the output alone. */
outcome check_call(const subject *s, const workload *work, const operation *op, call_fn *call,
                   const ref_value *expected, char *what, size_t size);

#endif
