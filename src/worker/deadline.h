/* How long the lane waits for each kind of step without seeing progress. Pure functions of the rules,
 * of what was seen lately, and of CONVOY_DEADLINE. */
#ifndef CVY_DEADLINE_H
#define CVY_DEADLINE_H

#include "backend.h"

typedef enum cvy_step {
  CVY_STEP_START,
  CVY_STEP_PROBE,
  CVY_STEP_COMPILE,
  CVY_STEP_TRANSFER,
  CVY_STEP_RUN,
  CVY_STEPS
} cvy_step;

typedef struct cvy_deadline_rule {
  const char *name;   /* in CONVOY_DEADLINE and in sentences */
  double least, most; /* seconds */
  double multiple;    /* of the longest recent time between two signs of progress; 0: none */
  double first;       /* times as long while a kernel runs for the first time */
  bool by_cpu_time;   /* the worker's processor time is progress, up to CVY_WALL_TIMES deadlines */
} cvy_deadline_rule;
extern const cvy_deadline_rule cvy_deadline_rules[CVY_STEPS];

/* Processor time shows that something happens, not that it will end. */
#define CVY_WALL_TIMES 10.0
/* What a call may still wait once the device has failed in it: enough to start a worker anew. */
#define CVY_AFTER_FAULT_SECONDS 10.0
/* Fresh workers in place of lost ones, at most `restarts` within so many seconds. */
#define CVY_RESTART_SECONDS 600.0

typedef struct cvy_deadlines {
  double fixed[CVY_STEPS];   /* from CONVOY_DEADLINE; 0: by the rule */
  double slowest[CVY_STEPS]; /* longest recent time between two signs of progress */
  double dispatch;           /* seconds one kernel launch should not exceed; 0: engine's choice */
  int32_t restarts;
} cvy_deadlines;

/* "run=2,compile=10,restarts=100"; NULL: the rules alone. ERR_ARGUMENT names the word it does not
 * know or the number out of range. */
convoy_status cvy_deadlines_parse(const char *text, cvy_deadlines *out);
void cvy_deadlines_learn(cvy_deadlines *deadlines, cvy_step step, double seconds);
double cvy_deadline(const cvy_deadlines *deadlines, cvy_step step, bool first_run);
cvy_step cvy_step_of(cvy_phase phase);
/* "compiling a program" */
const char *cvy_phase_text(cvy_phase phase);

#endif
