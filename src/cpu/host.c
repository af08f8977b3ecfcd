/* Facts from /proc/cpuinfo and sysconf. */
#include "cpu/host.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/os.h"

/* Finds the value of the first line "key : value". */
static bool cpuinfo(const char *key, char *value, size_t size) {
  char line[512];
  bool found = false;
  FILE *file = cvy_fd_stream("/proc/cpuinfo");
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
    line[strcspn(line, "\n")] = '\0';
    cvy_text_copy(value, size, colon + 1 + strspn(colon + 1, " "));
    found = true;
  }
  fclose(file);
  return found;
}

void cvy_host_name(char *name, size_t size) {
  struct utsname machine;
  if (cpuinfo("model name", name, size)) return;
  cvy_text_copy(name, size, uname(&machine) == 0 ? machine.machine : "processor");
}

int32_t cvy_host_mhz(void) {
  char value[64];
  return cpuinfo("cpu MHz", value, sizeof value) ? (int32_t)cvy_double(value, NULL) : 0;
}

int64_t cvy_host_memory(void) {
  return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}
