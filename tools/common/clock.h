/* The clock that durations are measured by. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

/* Returns monotonic seconds. */
double seconds_now(void);

#endif
