/* The fake device's own: what its files share. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "core/fake.h"

typedef struct fake_array {
  struct fake_array *next;
  uint64_t id;
  int64_t bytes;
  float *values;
  int *shares;  /* arrays that lie in the same memory... */
  float *whole; /* ...which begins here */
} fake_array;

/* A copy that was asked for. */
typedef struct fetched_copy {
  struct fetched_copy *next;
  uint64_t ticket;
  float *values;
} fetched_copy;

/* A command as it was given, with its own copy of what goes with it; a run of a plan with what is
 * bound and tapped by then. */
typedef struct fake_command {
  struct fake_command *next;
  uint64_t ticket;
  cvy_command given;
  cvy_job job;
  cvy_base *bases;
  cvy_tap *taps;
  int32_t tapped, tap_count;
  uint64_t tapped_to;
} fake_command;

struct cvy_device {
  cvy_facts facts;
  cvy_device *cpu;
  double *budget;
  const volatile int *interrupt;
  fake_array *arrays;
  fake_command *first, *last;
  struct fake_plan *plans;
  int32_t fault_step; /* of a plan */
  bool in_plan;       /* it carries one out */
  fetched_copy *copies;
  uint64_t tickets;
  uint64_t fault; /* 0: none */
  bool starved;   /* that was a lack of memory */
  bool dead;
};

float *fake_values_of(cvy_device *device, uint64_t id);
/* A job whose operands are on the host by now. */
void fake_run_job(cvy_device *device, cvy_job *host);
/* Whether the script wants what comes now to fail. */
bool fake_failing(void);

/* fake_plans.c. Makes, binds and taps plans, which are no commands of the script: whether it is one
 * of those. */
bool fake_plans(cvy_device *device, const cvy_command *given);
/* Notes with a run what is bound and tapped now. */
void fake_note_plan(cvy_device *device, fake_command *c);
/* False: a step has failed, which is the device's fault_step. */
bool fake_carry_out_plan(cvy_device *device, fake_command *c);
void fake_drop_plan(cvy_device *device, uint64_t number);
void fake_drop_plans(cvy_device *device);
int32_t fake_plan_step(const cvy_device *device, uint64_t ticket);

#endif
