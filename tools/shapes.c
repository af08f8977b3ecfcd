/* Tables are installed in share/convoy/shapes, beside bin/; the build tree has the same folder
 * beside the tool. */
#include "shapes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const char *const folders[] = {"share/convoy/shapes", "../share/convoy/shapes"};
enum { FOLDERS = sizeof folders / sizeof folders[0] };

/* The folder the tool lies in. */
static bool own_folder(char *out, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", out, size - 1);
  if (length <= 0) return false;
  out[length] = 0;
  char *slash = strrchr(out, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

static FILE *open_installed(const char *name) {
  char own[PATH_BYTES], path[PATH_BYTES + 512];
  if (strchr(name, '/') || strlen(name) > 200 || !own_folder(own, sizeof own)) return NULL;
  const char *end = strstr(name, ".csv") ? "" : ".csv";
  FILE *found = NULL;
  for (int i = 0; !found && i < FOLDERS; i++) {
    snprintf(path, sizeof path, "%s/%s/%s%s", own, folders[i], name, end);
    found = fopen(path, "r");
  }
  return found;
}

bool shapes_read(const char *name, layer_table *out, char *why, size_t why_size) {
  FILE *from = fopen(name, "r");
  const int reason = errno;
  if (!from) from = open_installed(name);
  if (!from) {
    snprintf(why, why_size, "%s: %s, and no installed table has that name", name, strerror(reason));
    return false;
  }
  const bool good = csv_read(from, name, out, why, why_size);
  fclose(from);
  return good;
}
