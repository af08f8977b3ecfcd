/* The clock that durations are measured by. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

/* Monotonic seconds. */
double seconds_now(void);

#endif
