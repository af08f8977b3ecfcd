/* Signs of life: each thread of the engine notes what it is at and counts its steps, in a few stores.
 * cvy_watchdog reads them from another thread. */
#ifndef CVY_CPU_THREADS_HEARTBEAT_H
#define CVY_CPU_THREADS_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum cvy_activity {
  CVY_IDLE,
  CVY_PART,      /* number, of how many */
  CVY_BLAS_TURN, /* waiting until another thread's product is done */
  CVY_BLAS       /* m, n, k */
} cvy_activity;

typedef struct cvy_progress_point {
  cvy_activity activity;
  int64_t number[3];
} cvy_progress_point;

/* Written by its thread alone. */
typedef struct cvy_heartbeat {
  atomic_uint_fast64_t count; /* changes with every step */
  atomic_int activity;
  atomic_int_fast64_t number[3];
  atomic_int clock; /* clockid_t of the thread's processor time */
  char apart[20];   /* fills a line of cache */
} cvy_heartbeat;

/* From now on this thread heartbeats there (NULL: nowhere); returns where it did before. */
cvy_heartbeat *cvy_heartbeat_attach(cvy_heartbeat *heartbeat);

/* Begins a step within the present one, which it returns; cvy_heartbeat_leave goes back to that. */
cvy_progress_point cvy_heartbeat_enter(cvy_progress_point step);
void cvy_heartbeat_leave(cvy_progress_point before);
/* The step goes on: for loops whose items may take long together. */
void cvy_heartbeat_tick(void);

#endif
