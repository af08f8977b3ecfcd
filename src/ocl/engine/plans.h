/* Plans, as backend.h says: steps that are carried out one after the other by one command. */
#ifndef CVY_OCL_ENGINE_PLANS_H
#define CVY_OCL_ENGINE_PLANS_H

#include "backend.h"

/* Runs of plans that a ticket is looked for in. */
enum { PLAN_RUNS = 8 };

typedef struct plan_run {
  uint64_t first; /* the ticket of its first step */
  int32_t steps;
} plan_run;

/* A device's part of this module. */
typedef struct device_plans {
  struct engine_plan *first;
  plan_run run[PLAN_RUNS]; /* the last ones, in turn */
  uint32_t runs;
} device_plans;

convoy_status engine_plan_job(cvy_device *device, const cvy_command *command);
convoy_status engine_plan_copy(cvy_device *device, const cvy_command *command);
convoy_status engine_plan_bind(cvy_device *device, const cvy_command *command);
convoy_status engine_plan_tap(cvy_device *device, const cvy_command *command);
convoy_status engine_plan_run(cvy_device *device, const cvy_command *command);
convoy_status engine_plan_drop(cvy_device *device, const cvy_command *command);
int32_t engine_plan_step(const cvy_device *device, uint64_t ticket);
/* Nothing that is packed is known to have been made. */
void plans_forget_packed(cvy_device *device);
void plans_close(cvy_device *device);

#endif
