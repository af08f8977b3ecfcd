/* Where the library lies, and what is installed with it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_config.h"
#include "os/os.h"

static pthread_once_t found = PTHREAD_ONCE_INIT;
static char library[4096];

/* The file in a line of /proc/self/maps that has the address; NULL if the line has not. */
static char *mapped_there(char *line, uintptr_t address) {
  uintptr_t begin, end;
  if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) return NULL;
  if (address < begin || address >= end) return NULL;
  line[strcspn(line, "\n")] = 0;
  return strchr(line, '/');
}

/* Of a file that has been replaced since, as by an upgrade, the kernel adds that it is deleted. */
static void keep(char *path) {
  static const char gone[] = " (deleted)";
  const size_t length = strlen(path), end = sizeof gone - 1;
  if (length > end && strcmp(path + length - end, gone) == 0) path[length - end] = 0;
  cvy_text_copy(library, sizeof library, path);
}

/* The kernel says it. The loader would give the name that a library was asked for by, which may be
 * relative to a folder that the process has left, and for a program the one that its caller chose.
 */
static void find_library(void) {
  FILE *maps = cvy_fd_stream("/proc/self/maps");
  char *line = NULL, *path = NULL;
  size_t size = 0;
  while (maps && !path && getline(&line, &size, maps) > 0)
    path = mapped_there(line, (uintptr_t)&find_library);
  if (path) keep(path);
  free(line);
  if (maps) fclose(maps);
}

const char *cvy_library_path(void) {
  pthread_once(&found, find_library);
  return library;
}

/* The folder the library lies in, with what is in it. */
static bool beside(const char *rest, char *path, size_t size) {
  const char *slash = strrchr(cvy_library_path(), '/');
  if (!slash) return false;
  cvy_text text = cvy_text_in(path, size);
  cvy_text_add(&text, "%.*s%s", (int)(slash - library), library, rest);
  return !text.overflow;
}

bool cvy_libexec_folder(char *path, size_t size) {
  const char *own = cvy_env("CONVOY_LIBEXEC");
  if (own) return cvy_absolute(own, path, size) == CONVOY_OK;
  return beside("/" CONVOY_LIBEXEC, path, size);
}

bool cvy_share_folder(const char *part, char *path, size_t size) {
  static const char *const ways[] = {"", "/..", "/../.."};
  for (size_t i = 0; i < CVY_COUNT(ways); i++) {
    char rest[128];
    cvy_text text = cvy_text_in(rest, sizeof rest);
    cvy_text_add(&text, "%s/share/convoy/%s", ways[i], part);
    if (!text.overflow && beside(rest, path, size) && access(path, R_OK) == 0) return true;
  }
  return false;
}
