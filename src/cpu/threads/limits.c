/* The number of processors this process may use. A container with a quota of two processors on a
 * machine of 64 still sees 64 in its affinity mask; 64 threads there would be throttled most of the
 * time. */
#include "cpu/threads/limits.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/threads/affinity.h"
#include "cpu/threads/openmp.h"
#include "os/os.h"

static bool read_line(const char *path, char *line, size_t size) {
  FILE *file = cvy_fd_stream(path);
  if (!file) return false;
  bool found = fgets(line, (int)size, file) != NULL;
  fclose(file);
  return found;
}

static int32_t processors(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  long long whole = (quota + period - 1) / period;
  return whole > INT32_MAX ? INT32_MAX : (int32_t)whole;
}

static int32_t folder_quota(const char *folder) {
  char path[PATH_MAX + 32], line[128];
  long long quota = 0, period = 0;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (read_line(path, line, sizeof line))
    return sscanf(line, "%lld %lld", &quota, &period) == 2 ? processors(quota, period) : 0;
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_line(path, line, sizeof line)) return 0;
  quota = atoll(line);
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  if (!read_line(path, line, sizeof line)) return 0;
  return processors(quota, atoll(line));
}

static int32_t tighter(int32_t a, int32_t b) {
  if (a == 0 || b == 0) return a + b;
  return a < b ? a : b;
}

/* A group is bound by its ancestors too. Inside a container the listed path may not exist below the
 * mount; going up still ends at the root, where the container's own limit is then found. */
static int32_t path_quota(const char *mount, const char *group) {
  char folder[PATH_MAX];
  int32_t quota = 0;
  if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder) return 0;
  for (size_t root = strlen(mount), end = strlen(folder); end >= root; end--) {
    if (end > root && folder[end] != '/' && folder[end] != '\0') continue;
    folder[end] = '\0';
    quota = tighter(quota, folder_quota(folder));
  }
  return quota;
}

static bool names_cpu(const char *controllers) {
  char list[256];
  snprintf(list, sizeof list, ",%s,", controllers);
  return strstr(list, ",cpu,") != NULL;
}

/* A line has the form hierarchy-number ":" controllers ":" path. Version 2 has no controllers. */
static int32_t line_quota(char *line, const char *root) {
  char mount[PATH_MAX];
  char *controllers = strchr(line, ':');
  if (!controllers) return 0;
  char *group = strchr(++controllers, ':');
  if (!group) return 0;
  *group++ = '\0';
  group[strcspn(group, "\n")] = '\0';
  if (*controllers == '\0') return path_quota(root, group);
  if (!names_cpu(controllers)) return 0;
  if ((size_t)snprintf(mount, sizeof mount, "%s/cpu", root) >= sizeof mount) return 0;
  return path_quota(mount, group);
}

int32_t cvy_cgroup_quota(const char *membership, const char *root) {
  char line[PATH_MAX];
  int32_t quota = 0;
  FILE *file = cvy_fd_stream(membership);
  if (!file) return 0;
  while (fgets(line, sizeof line, file)) quota = tighter(quota, line_quota(line, root));
  fclose(file);
  return quota;
}

int32_t cvy_cpu_allowed(void) {
  int32_t quota = cvy_cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return tighter(tighter(cvy_affinity_count(), quota), cvy_openmp_threads());
}
