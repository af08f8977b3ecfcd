/* What the operating system says about this machine's processor and memory. */
#ifndef CVY_CPU_HOST_H
#define CVY_CPU_HOST_H

#include <stddef.h>
#include <stdint.h>

/* "AMD EPYC ...", or the machine's architecture where the system names no model. */
void cvy_host_name(char *name, size_t size);
int32_t cvy_host_mhz(void);    /* 0 if unknown */
int64_t cvy_host_memory(void); /* bytes */

#endif
