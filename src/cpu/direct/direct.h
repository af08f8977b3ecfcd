/* The passes of cpu.direct, one file each. */
#ifndef CVY_CPU_DIRECT_DIRECT_H
#define CVY_CPU_DIRECT_DIRECT_H

#include "cpu/row.h"

void cvy_cpu_direct_forward(const cvy_cpu_call *call);
void cvy_cpu_direct_backward_data(const cvy_cpu_call *call);
void cvy_cpu_direct_backward_weights(const cvy_cpu_call *call);
void cvy_cpu_direct_backward_bias(const cvy_cpu_call *call);

#endif
