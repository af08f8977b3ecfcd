/* What a process does and which clock says so, behind pointers that tests replace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

static double clock_with_sleep(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* State and processor time: the fields behind the name, which may itself hold blanks and brackets. */
static bool read_stat(int pid, cvy_process_look *out) {
  char path[32];
  unsigned long user, kernel;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  char *text = cvy_file_read_system(path);
  const char *rest = text ? strrchr(text, ')') : NULL;
  const bool good = rest && sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                   &out->state, &user, &kernel) == 3;
  if (good) out->cpu_seconds = (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
  free(text);
  return good;
}

static int read_tracer(int pid) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  char *text = cvy_file_read_system(path);
  const char *line = text ? strstr(text, "\nTracerPid:") : NULL;
  const int tracer = line ? atoi(line + sizeof "\nTracerPid:" - 1) : 0;
  free(text);
  return tracer;
}

static bool look(int pid, cvy_process_look *out) {
  *out = (cvy_process_look){0};
  if (!read_stat(pid, out)) return false;
  out->tracer = read_tracer(pid);
  return true;
}

static void send_signal(int watch, int number) {
  syscall(SYS_pidfd_send_signal, watch, number, NULL, 0);
}

cvy_os_seam cvy_os = {cvy_clock, clock_with_sleep, look, send_signal};
