/* The four directions of cpu.direct, one file each. */
#ifndef CVY_CPU_DIRECT_DIRECT_H
#define CVY_CPU_DIRECT_DIRECT_H

#include "cpu/row.h"

void cvy_direct_forward(const cvy_cpu_call *call);
void cvy_direct_data(const cvy_cpu_call *call);
void cvy_direct_weights(const cvy_cpu_call *call);
void cvy_direct_bias(const cvy_cpu_call *call);

#endif
