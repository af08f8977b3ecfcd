/* The table of the CPU engine's algorithms. */
#include "cpu/row.h"

#define ADDRESS(name) &cvy_cpu_##name.algorithm,

const cvy_algorithm *const cvy_cpu_algorithms[] = {CVY_CPU_ROWS(ADDRESS) NULL};
