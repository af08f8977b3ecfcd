/* Bias and activation, which each algorithm applies to the outputs it has just written. */
#ifndef CVY_CPU_SHARED_EPILOGUE_H
#define CVY_CPU_SHARED_EPILOGUE_H

#include "cpu/row.h"

/* Applies them to `length` outputs of channel `channel`, while these are still in the cache. */
void cvy_cpu_epilogue(const cvy_cpu_call *call, float *out, int64_t channel, int64_t length);

#endif
