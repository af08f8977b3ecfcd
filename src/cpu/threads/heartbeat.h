/* Signs of life: each thread of the engine notes what it is at and counts how often that changed or
 * went on, in a few stores. The watchdog reads them from another thread. */
#ifndef CVY_CPU_THREADS_HEARTBEAT_H
#define CVY_CPU_THREADS_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum cvy_activity {
  CVY_IDLE,
  CVY_PART,      /* a part of a loop: its number, and of how many */
  CVY_BLAS_TURN, /* waiting until another thread's product is done */
  CVY_BLAS       /* a product by BLAS: m, n, k */
} cvy_activity;

/* What a thread is at. */
typedef struct cvy_progress_point {
  cvy_activity activity;
  int64_t number[3];
} cvy_progress_point;

/* Only its own thread writes it. */
typedef struct cvy_heartbeat {
  atomic_uint_fast64_t count; /* changes with every sign of life */
  atomic_int activity;
  atomic_int_fast64_t number[3];
  atomic_int clock; /* the clockid_t of the thread's processor time */
  char apart[20];   /* fills a line of cache */
} cvy_heartbeat;

/* From now on the signs of life of the calling thread go there, or nowhere if it is NULL. Returns
 * where they went before. */
cvy_heartbeat *cvy_heartbeat_attach(cvy_heartbeat *heartbeat);

/* The calling thread is now at `point`, within what it was at. Returns that, for
 * cvy_heartbeat_leave to go back to. */
cvy_progress_point cvy_heartbeat_enter(cvy_progress_point point);
void cvy_heartbeat_leave(cvy_progress_point before);
/* A sign of life without a change, for loops whose items may take long together. */
void cvy_heartbeat_tick(void);

#endif
