/* The processors this process may use. OpenMP's runtime binds the thread that loads it to one
 * processor if OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY say so; threads started from there
 * inherit that. It is meant for OpenMP's own threads and would leave ours one processor. */
#ifndef CVY_CPU_THREADS_AFFINITY_H
#define CVY_CPU_THREADS_AFFINITY_H

#include <stdint.h>

/* How many processors the calling thread may use, or could before OpenMP bound it. At least 1. */
int32_t cvy_affinity_count(void);

/* Takes the binding by OpenMP off the calling thread; other restrictions stay. */
void cvy_affinity_unbind(void);

#endif
