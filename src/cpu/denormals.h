/* Denormal numbers cost a processor 100 cycles and more each and carry nothing in training: they
 * count as 0 inside the library's threads, and in the caller's thread while a job runs. */
#ifndef CVY_CPU_DENORMALS_H
#define CVY_CPU_DENORMALS_H

#include <stdint.h>

/* Flushes from now on in this thread; returns the mode to restore. */
uint64_t cvy_denormals_flush(void);
void cvy_denormals_restore(uint64_t mode);

#endif
