/* How many threads this process may keep busy. That is a matter of its affinity mask, the quota of
 * its control group and OpenMP's settings, not of the machine. */
#ifndef CVY_CPU_THREADS_LIMITS_H
#define CVY_CPU_THREADS_LIMITS_H

#include <stdint.h>

/* The number of such threads, at least 1. */
int32_t cvy_cpu_allowed(void);

/* The tightest quota of the control groups listed in the file `membership` (as /proc/self/cgroup
 * is), looked up below `root` (as /sys/fs/cgroup), rounded up to whole processors. 0 if there is
 * none. Knows version 2 of control groups (cpu.max) and version 1 (cpu.cfs_quota_us). */
int32_t cvy_cgroup_quota(const char *membership, const char *root);

#endif
