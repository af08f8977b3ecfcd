/* OpenMP's threads as a team, and what its settings say. In builds without OpenMP no_openmp.c is in
 * the place of openmp.c. */
#ifndef CVY_CPU_THREADS_OPENMP_H
#define CVY_CPU_THREADS_OPENMP_H

#include "cpu/threads/team.h"

/* The team; NULL in builds without OpenMP. One that yields is not ready while others want the
 * processors (crowding.h), unless OMP_WAIT_POLICY or the like says how its threads are to wait.
 * Must not be used in a child made by fork(): GNU's runtime waits there for threads that do not
 * exist. */
cvy_team *cvy_openmp_team(bool yields);

/* How many threads OpenMP would take for a loop of the calling thread: OMP_NUM_THREADS and
 * omp_set_num_threads, else its processors, and OMP_THREAD_LIMIT; 1 if OMP_MAX_ACTIVE_LEVELS is 0.
 * INT32_MAX without OpenMP. */
int32_t cvy_openmp_threads(void);

/* The file of the runtime in use; NULL without OpenMP. */
const char *cvy_openmp_library(void);

#endif
