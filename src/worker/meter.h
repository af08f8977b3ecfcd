/* How long the other side is waited for, charged to the public call that waits. Who waits looks
 * around at short intervals: what lies between two looks of a wait counts, what passes between
 * waits never does. */
#ifndef CVY_METER_H
#define CVY_METER_H

/* Between two looks, at most. */
#define CVY_LOOK_SECONDS 0.005
/* Where more than this lies between two looks the rest does not count: the thread did not run,
 * because the program was stopped, or everything was. */
#define CVY_LATE_SECONDS 0.25

typedef struct cvy_meter {
  double *budget; /* the call's seconds; NULL: not bounded */
  double last;    /* clock of the last look */
} cvy_meter;

cvy_meter cvy_meter_begin(double *budget);
/* Another look: the seconds since the last one, `most` at most, which are taken off the budget. */
double cvy_meter_look(cvy_meter *meter, double most);
/* What was waited for is there. When it came is not known: had this thread run, it would have seen
 * it at the next look. */
void cvy_meter_end(cvy_meter *meter);
/* Gives seconds back. */
void cvy_meter_uncharge(const cvy_meter *meter, double seconds);

#endif
