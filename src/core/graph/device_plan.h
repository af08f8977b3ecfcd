/* How a device carries a plan out by one command: with which algorithms, and where its results lie.
 * The device keeps it until something befalls it, and then is given it again. */
#ifndef CVY_DEVICE_PLAN_H
#define CVY_DEVICE_PLAN_H

#include "core/graph/place.h"

typedef enum cvy_plan_trust {
  CVY_PLAN_NEW,     /* to be compared with its operations carried out one by one */
  CVY_PLAN_PROVEN,  /* they make the same bits */
  CVY_PLAN_REFUSED, /* they do not, or it cannot be carried out by one command */
} cvy_plan_trust;

struct cvy_device_plan {
  convoy_context *context;
  cvy_plan_trust trust;
  cvy_places places;
  cvy_choice *choice; /* of each node */
  int32_t *step;      /* the node that each step is of */
  int32_t steps;
  cvy_base *binding; /* of each base, filled in anew for each run */
  cvy_store **input; /* what the run under way reads, in the plan's order */
  cvy_block **block; /* those it has of its own */
  uint64_t number;   /* by which the device knows it; 0: it does not */
  uint64_t told;     /* context->faults_met when it was told */
  int64_t learned;   /* chooser.learned when algorithms were chosen */
  int64_t bytes;     /* of all that it makes */
};

/* Makes sure that the device knows the plan. ERR_UNSUPPORTED: it cannot be carried out by one
 * command, which is so from then on; what the device says of it otherwise, as a fault that has been
 * dealt with. */
convoy_status cvy_device_plan_ready(convoy_context *context, cvy_plan *plan);
/* NULL allowed. The device forgets it too. */
void cvy_device_plan_free(cvy_device_plan *plan);

#endif
