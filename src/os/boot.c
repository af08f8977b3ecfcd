/* Which boot of the machine this is, and which processes belong to it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

bool cvy_boot_id(char *text, size_t size) {
  size_t count;
  char *id = cvy_file_read("/proc/sys/kernel/random/boot_id", &count);
  cvy_text_copy(text, size, id ? id : "");
  free(id);
  text[strcspn(text, "\n")] = '\0';
  return *text != '\0';
}

/* The 22nd word of the process's line. The second is its name in brackets, which may hold anything. */
uint64_t cvy_process_born(int pid) {
  char path[64];
  size_t count;
  uint64_t born = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  char *line = cvy_file_read(path, &count);
  char *at = line ? strrchr(line, ')') : NULL;
  for (int word = 2; at && word < 22; word++) at = strchr(at + 1, ' ');
  if (at) born = strtoull(at, NULL, 10);
  free(line);
  return born;
}
