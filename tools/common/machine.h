/* Says what machine this is, and with which settings, for whoever reads the figures elsewhere. */
#ifndef COMMON_MACHINE_H
#define COMMON_MACHINE_H

#include <stdint.h>

typedef struct machine {
  char system[128]; /* kernel and architecture; no host name */
  char cpu[128];
  int cores;
  int64_t memory_bytes;
} machine;

machine machine_here(void);

/* These variables change what Convoy or an OpenCL driver does. NULL ends them. */
extern const char *const machine_variables[];

#endif
