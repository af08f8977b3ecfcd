/* Denormal numbers cost a processor 100 cycles and more each and carry nothing in training: they
 * count as 0 inside the library's threads, and in the caller's thread while a job runs. All else of
 * the mode is then the default, however the program rounds and whatever it traps: a pool's threads
 * inherit what the first caller happened to have, and results are not to depend on that. */
#ifndef CVY_CPU_THREADS_DENORMALS_H
#define CVY_CPU_THREADS_DENORMALS_H

#include <stdint.h>

/* Lets denormals count as 0 in this thread from now on. Returns the mode to restore. */
uint64_t cvy_denormals_flush(void);
void cvy_denormals_restore(uint64_t mode);

#endif
