/* Whole files, read and replaced. A file that is written appears complete or not at all, also when
 * the machine loses power: data first, then the name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

static convoy_status io_error(const char *what, const char *path) {
  return cvy_fail(CONVOY_ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

void cvy_file_parents(const char *path) {
  char folder[4096];
  cvy_text_copy(folder, sizeof folder, path);
  for (char *at = folder + 1; folder[0] && *at; ++at) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(folder, 0777); /* failing matters only if the file cannot be made, and is said there */
    *at = '/';
  }
}

static bool write_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    count -= (size_t)written;
  }
  return true;
}

/* Some file systems refuse to sync a folder; the rename is then as safe as they make it. */
static void sync_parent(const char *path) {
  char folder[4096];
  cvy_text_copy(folder, sizeof folder, path);
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = 0;
  int fd = cvy_fd_above(open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

convoy_status cvy_file_write(const char *path, const void *bytes, size_t count) {
  char temporary[4096];
  cvy_text text = cvy_text_in(temporary, sizeof temporary);
  cvy_text_add(&text, "%s.XXXXXX", path);
  if (text.overflow) return cvy_fail(CONVOY_ERR_IO, "path of %zu bytes is too long", strlen(path));
  cvy_file_parents(path);
  int fd = cvy_fd_above(mkostemp(temporary, O_CLOEXEC));
  if (fd < 0) return io_error("create a file beside", path);
  bool good = write_all(fd, bytes, count) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
  good = close(fd) == 0 && good;
  if (good && rename(temporary, path) == 0) {
    sync_parent(path);
    return CONVOY_OK;
  }
  convoy_status status = io_error("write", path);
  unlink(temporary);
  return status;
}

/* Reads to the end whatever size the file claims: it may grow, or be no regular file. */
static char *read_all(int fd, size_t *count) {
  size_t size = 0, used = 0;
  char *bytes = NULL;
  for (;;) {
    if (size - used < 2) {
      char *grown = realloc(bytes, size = size ? 2 * size : 4096);
      if (!grown) break;
      bytes = grown;
    }
    ssize_t got = read(fd, bytes + used, size - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) {
      bytes[used] = 0;
      *count = used;
      return bytes;
    }
    used += (size_t)got;
  }
  free(bytes);
  return NULL;
}

void cvy_file_remove(const char *path) {
  if (unlink(path) == 0) sync_parent(path);
}

void *cvy_file_read(const char *path, size_t *count) {
  int fd = cvy_fd_above(open(path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) return NULL;
  char *bytes = read_all(fd, count);
  close(fd);
  return bytes;
}
