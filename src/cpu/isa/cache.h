/* What all code of the CPU engine takes a line of the processor's cache for. */
#ifndef CVY_CPU_ISA_CACHE_H
#define CVY_CPU_ISA_CACHE_H

#define CVY_LINE_FLOATS 16

#endif
