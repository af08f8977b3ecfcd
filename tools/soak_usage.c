/* What this process uses, from /proc. */
#include <dirent.h>
#include <unistd.h>

#include "soak.h"

int64_t soak_rss_kib(void) {
  long long size = 0, resident = 0;
  FILE *from = fopen("/proc/self/statm", "r");
  if (!from) return 0;
  if (fscanf(from, "%lld %lld", &size, &resident) != 2) resident = 0;
  fclose(from);
  return (int64_t)resident * sysconf(_SC_PAGESIZE) / 1024;
}

int soak_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count - 3; /* ".", ".." and the folder's own */
}
