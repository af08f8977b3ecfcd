/* Asks uname and /proc/cpuinfo, and knows which variables matter. */
#include "common/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const char *const machine_variables[] = {
    "CONVOY_DEVICE",
    "CONVOY_ALGORITHM",
    "CONVOY_ISOLATION",
    "CONVOY_FAILOVER",
    "CONVOY_REQUIRE_DEVICE",
    "CONVOY_THREADS",
    "CONVOY_TEAM",
    "CONVOY_WORKSPACE_LIMIT",
    "CONVOY_MEMORY_LIMIT",
    "CONVOY_TUNE",
    "CONVOY_TUNE_FILE",
    "CONVOY_DEVICE_WAIT_BUDGET",
    "CONVOY_DEADLINE",
    "CONVOY_VERIFY",
    "CONVOY_NAN_WATCH",
    "CONVOY_HISTORY_LIMIT",
    "CONVOY_CPU_STALL",
    "CONVOY_CPU_ISA",
    "CONVOY_WINOGRAD",
    "CONVOY_STATE_DIR",
    "CONVOY_FAULT_LIMIT",
    "CONVOY_COMPILE_WORKERS",
    "CONVOY_CACHE_DIR",
    "CONVOY_LIBEXEC",
    "CONVOY_RUNTIMES",
    "CONVOY_GRAPH_PASSES",
    "CONVOY_LOG",
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_WAIT_POLICY",
    "GOMP_SPINCOUNT",
    "OPENBLAS_NUM_THREADS",
    "HSA_OVERRIDE_GFX_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "CUDA_VISIBLE_DEVICES",
    "RUSTICL_ENABLE",
    "OCL_ICD_VENDORS",
    "OCL_ICD_FILENAMES",
    "POCL_DEVICES",
    "POCL_MAX_PTHREAD_COUNT",
    NULL,
};

static void read_cpu_name(char *out, size_t size) {
  snprintf(out, size, "unknown");
  FILE *from = fopen("/proc/cpuinfo", "r");
  if (!from) return;
  char line[512];
  while (fgets(line, sizeof line, from)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(out, size, "%.120s", colon + 2);
    break;
  }
  fclose(from);
}

machine machine_here(void) {
  machine out = {.cores = (int)sysconf(_SC_NPROCESSORS_ONLN),
                 .memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)};
  struct utsname name;
  if (uname(&name) == 0) {
    snprintf(out.system, sizeof out.system, "%.30s %.60s %.30s", name.sysname, name.release,
             name.machine);
  }
  read_cpu_name(out.cpu, sizeof out.cpu);
  return out;
}
