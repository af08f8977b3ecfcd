/* Files while they are written. In the folder where they get their names they bear those of a short
 * row of Convoy's own, under a lock. A process that is killed lets go of the lock: the process that
 * writes in that folder next removes the file. So no folder has to be listed, and however often a
 * process is killed, no more files are left than were being written at the same time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/file.h"

#define NAME ".convoy-saving-%d" /* docs/state.md has it too */
/* Others in the same folder have the first names; beyond the longest gap none is looked for. */
enum { MOST_AT_ONCE = 4096, LONGEST_GAP = 8 };

static bool name(const char *beside, int number, char *path, size_t size) {
  const char *slash = strrchr(beside, '/');
  cvy_text text = cvy_text_in(path, size);
  cvy_text_add(&text, "%.*s" NAME, slash ? (int)(slash - beside) + 1 : 0, beside, number);
  return !text.overflow;
}

/* ---------------------------------------------------------------------------- left by others */

static int open_left(const char *path) {
  const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int fd = open(path, O_RDWR | flags); /* locks of NFS want it writable */
  if (fd < 0 && errno == EACCES) fd = open(path, O_RDONLY | flags);
  return cvy_fd_above(fd);
}

/* The process with the lock looks whether the name still means the file: its writer, or one that
 * removed it, may have been faster. */
static bool is_left(int fd, const char *path) {
  struct stat about, named;
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         about.st_nlink == 1 && flock(fd, LOCK_EX | LOCK_NB) == 0 && lstat(path, &named) == 0 &&
         named.st_dev == about.st_dev && named.st_ino == about.st_ino;
}

/* Whether there is nothing of this name, or no longer. */
static bool clear(const char *path) {
  const int fd = open_left(path);
  if (fd < 0) return errno == ENOENT;
  const bool gone = is_left(fd, path) && unlink(path) == 0;
  close(fd);
  return gone;
}

/* -------------------------------------------------------------------------------------- own */

/* Until the lock is there, another may take the file for one that was left. Where the file system
 * has no locks, no process gets any, and what is left stays. */
static bool is_kept(int fd) {
  struct stat about;
  if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) return false;
  return fstat(fd, &about) == 0 && about.st_nlink > 0;
}

/* False: it cannot be made, for a reason that holds for all names. */
static bool try_name(mode_t mode, cvy_partial *out) {
  out->fd = cvy_fd_above(open(out->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (out->fd < 0) return errno == EEXIST;
  if (is_kept(out->fd)) return true;
  close(out->fd);
  out->fd = -1;
  return true;
}

convoy_status cvy_partial_begin(const char *path, mode_t mode, cvy_partial *out) {
  char other[sizeof out->path];
  out->fd = -1;
  for (int i = 0, gap = 0; i < MOST_AT_ONCE && (out->fd < 0 || gap < LONGEST_GAP); i++) {
    if (!name(path, i, other, sizeof other))
      return cvy_fail(CONVOY_ERR_IO, "path of %zu bytes is too long", strlen(path));
    gap = clear(other) ? gap + 1 : 0;
    if (out->fd >= 0) continue;
    strcpy(out->path, other);
    if (!try_name(mode, out)) return cvy_io_error("create a file beside", path);
  }
  if (out->fd >= 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "%d files are being written beside %s", MOST_AT_ONCE, path);
}

bool cvy_partial_end(cvy_partial *partial, const char *path) {
  if (rename(partial->path, path)) return false;
  close(partial->fd);
  return true;
}

void cvy_partial_drop(cvy_partial *partial) {
  unlink(partial->path);
  close(partial->fd);
}
