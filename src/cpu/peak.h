/* What the processor can do at best, measured over all threads of the engine. */
#ifndef CVY_CPU_PEAK_H
#define CVY_CPU_PEAK_H

#include "cpu/isa/simd.h"
#include "cpu/threads/threads.h"

/* Multiply-adds from registers. */
double cvy_peak_gflops(cvy_threads *threads, const cvy_simd *simd);
/* Bytes read plus bytes written. ERR_MEMORY if there is no room for arrays beyond the caches. */
convoy_status cvy_peak_copy(cvy_threads *threads, double *gigabytes);

#endif
