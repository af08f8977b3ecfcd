/* What this process uses, from /proc. */
#include <dirent.h>
#include <unistd.h>

#include "soak.h"

enum {
  WARM_LEAST = 40,       /* steps before which growth says nothing */
  RSS_GROWTH_MOST = 4096 /* KiB */
};

static int64_t rss_kib(void) {
  long long size = 0, resident = 0;
  FILE *from = fopen("/proc/self/statm", "r");
  if (!from) return 0;
  if (fscanf(from, "%lld %lld", &size, &resident) != 2) resident = 0;
  fclose(from);
  return (int64_t)resident * sysconf(_SC_PAGESIZE) / 1024;
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count - 3; /* ".", ".." and the folder's own */
}

/* Of descriptors the most there were counts: a worker or a compile worker may just have been lost. */
void soak_usage_note(soak_usage *uses, int steps) {
  uses->steps = steps;
  if (steps > uses->warm) return;
  const int now = descriptors();
  uses->rss_before = rss_kib();
  if (now > uses->descriptors_before) uses->descriptors_before = now;
}

void soak_usage_end(soak_usage *uses) {
  uses->rss_growth = rss_kib() - uses->rss_before;
  uses->descriptors_growth = descriptors() - uses->descriptors_before;
}

bool soak_usage_grew(const soak_usage *uses, char *why, size_t size) {
  const bool memory = uses->rss_growth > RSS_GROWTH_MOST, files = uses->descriptors_growth > 0;
  int used = 0;
  if (uses->warm < WARM_LEAST || uses->steps <= uses->warm || (!memory && !files)) return false;
  if (memory)
    used =
        snprintf(why, size, "memory grew by %lld KiB after step %d, more than %d%s",
                 (long long)uses->rss_growth, uses->warm, RSS_GROWTH_MOST, files ? ", and " : "");
  if (files)
    snprintf(why + used, size - (size_t)used,
             "descriptors: %d more were open at the end than by step %d", uses->descriptors_growth,
             uses->warm);
  return true;
}
