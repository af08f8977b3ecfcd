/* Which machine this is, which boot of it, and which processes belong to it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

static void first_line(const char *path, char *text, size_t size) {
  char *whole = cvy_file_read_system(path);
  cvy_text_copy(text, size, whole ? whole : "");
  free(whole);
  text[strcspn(text, "\n")] = '\0';
}

bool cvy_boot_id(char *text, size_t size) {
  first_line("/proc/sys/kernel/random/boot_id", text, size);
  return *text != '\0';
}

int64_t cvy_boot_began(void) {
  return cvy_date() - (int64_t)cvy_os.clock_with_sleep();
}

/* A system that was never started has an empty file, or one that says "uninitialized". */
void cvy_machine_id(char *text, size_t size) {
  static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id"};
  for (size_t i = 0; i < CVY_COUNT(files); i++) {
    first_line(files[i], text, size);
    if (cvy_text_is(text, "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@")) return;
  }
  *text = '\0';
}

void cvy_pid_namespace(char *text, size_t size) {
  const ssize_t length = readlink("/proc/self/ns/pid", text, size - 1);
  text[length > 0 ? length : 0] = '\0';
}

/* The 22nd word of the process's line. The second is its name in brackets, which may hold anything. */
uint64_t cvy_process_born(int pid) {
  char path[64];
  uint64_t born = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  char *line = cvy_file_read_system(path);
  char *at = line ? strrchr(line, ')') : NULL;
  for (int word = 2; at && word < 22; word++) at = strchr(at + 1, ' ');
  if (at) born = strtoull(at, NULL, 10);
  free(line);
  return born;
}
