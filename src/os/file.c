/* Files are opened and read. What is there may be anything: a user who can write to the folder may
 * have put a FIFO, a device or a link into a file's place. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

convoy_status cvy_io_error(const char *what, const char *path) {
  return cvy_fail(CONVOY_ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ----------------------------------------------------------------------------------- opening */

static const char *kind_of(mode_t mode) {
  static const struct {
    mode_t kind;
    const char *name;
  } kinds[] = {{S_IFDIR, "a folder"},           {S_IFIFO, "a FIFO"},
               {S_IFCHR, "a character device"}, {S_IFBLK, "a block device"},
               {S_IFLNK, "a symbolic link"},    {S_IFSOCK, "a socket"}};
  for (size_t i = 0; i < CVY_COUNT(kinds); i++)
    if ((mode & S_IFMT) == kinds[i].kind) return kinds[i].name;
  return "something unknown";
}

convoy_status cvy_file_check_kind(const char *path, const struct stat *about) {
  if (S_ISREG(about->st_mode)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "%s is %s, not a regular file", path, kind_of(about->st_mode));
}

bool cvy_file_has_private_group(const struct stat *about) {
  return about->st_uid != 0 && about->st_uid == about->st_gid;
}

/* Who but this user and root could have put it there, or written to it? */
static convoy_status check_owner(const char *path, cvy_file_kind kind, const struct stat *about) {
  const uid_t own = geteuid();
  const bool ours = about->st_uid == own || about->st_uid == 0;
  const bool group = kind == CVY_FILE_CODE || !cvy_file_has_private_group(about);
  if (ours && !(about->st_mode & (S_IWOTH | (group ? S_IWGRP : 0)))) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO,
                  "%s belongs to user %u and group %u and has mode %04o; nobody but user %u and "
                  "root should be able to write there",
                  path, (unsigned)about->st_uid, (unsigned)about->st_gid,
                  (unsigned)(about->st_mode & 07777), (unsigned)own);
}

/* What other users put into a folder for all, with the sticky bit, they may not take away or
 * replace. */
convoy_status cvy_folder_check(const char *path, cvy_file_kind kind) {
  struct stat about;
  if (stat(path, &about)) return errno == ENOENT ? CONVOY_OK : cvy_io_error("look at", path);
  if (about.st_mode & S_ISVTX) about.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
  return check_owner(path, kind, &about);
}

static convoy_status open_error(const char *path) {
  return errno == ENOENT ? CONVOY_ERR_NOT_FOUND : cvy_io_error("open", path);
}

static int look(const char *path, cvy_file_kind kind, struct stat *about) {
  return kind == CVY_FILE_INSTALLED ? stat(path, about) : lstat(path, about);
}

static convoy_status check(const char *path, cvy_file_kind kind, const struct stat *about) {
  convoy_status status = cvy_file_check_kind(path, about);
  return status || kind == CVY_FILE_INSTALLED ? status : check_owner(path, kind, about);
}

/* A look comes first, since opening alone does things to some devices; what was opened is looked at
 * again, since the name may mean another file by then. */
static convoy_status open_regular(const char *path, int flags, cvy_file_kind kind, int *fd,
                                  struct stat *about) {
  const bool there = look(path, kind, about) == 0;
  if (!there && (errno != ENOENT || !(flags & O_CREAT))) return open_error(path);
  convoy_status status = there ? check(path, kind, about) : CONVOY_OK;
  if (status) return status;
  const int links = kind == CVY_FILE_INSTALLED ? 0 : O_NOFOLLOW;
  *fd = cvy_fd_above(open(path, flags | links | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644));
  if (*fd < 0) return open_error(path);
  status = fstat(*fd, about) ? cvy_io_error("look at", path) : check(path, kind, about);
  if (status) close(*fd);
  return status;
}

convoy_status cvy_file_open(const char *path, int flags, int *fd) {
  struct stat about;
  return open_regular(path, flags, CVY_FILE_TEXT, fd, &about);
}

convoy_status cvy_file_open_data(const char *path, int *fd, int64_t *bytes) {
  struct stat about;
  convoy_status status = open_regular(path, O_RDONLY, CVY_FILE_INSTALLED, fd, &about);
  if (status == CONVOY_ERR_NOT_FOUND) return cvy_fail(status, "there is no file %s", path);
  if (!status) *bytes = about.st_size;
  return status;
}

void cvy_file_close(int fd) {
  close(fd);
}

/* ----------------------------------------------------------------------------------- reading */

convoy_status cvy_file_read_at(int fd, const char *path, int64_t offset, void *bytes,
                               size_t count) {
  for (char *at = bytes; count > 0;) {
    const ssize_t got = pread(fd, at, count, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cvy_io_error("read", path);
    if (got == 0) return cvy_fail(CONVOY_ERR_IO, "%s ends %zu bytes before it should", path, count);
    at += got;
    offset += got;
    count -= (size_t)got;
  }
  return CONVOY_OK;
}

/* Reads to the end whatever size the file claims: it may grow, and those of /proc claim none.
 * False: not to be had, and errno, or more than `most` bytes. */
static bool read_all(int fd, size_t most, char **bytes, size_t *count) {
  size_t size = 0;
  for (*count = 0, *bytes = NULL; *count <= most;) {
    if (size - *count < 2) {
      char *grown = realloc(*bytes, size = size ? 2 * size : 4096);
      if (!grown) break;
      *bytes = grown;
    }
    const ssize_t got = read(fd, *bytes + *count, size - *count - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    *count += (size_t)got;
    (*bytes)[*count] = 0;
    if (got == 0) return true;
  }
  free(*bytes);
  *bytes = NULL;
  return false;
}

static convoy_status too_large(const char *path, uint64_t size, size_t most) {
  return cvy_fail(CONVOY_ERR_IO, "%s has %llu bytes, more than the %zu that are read", path,
                  (unsigned long long)size, most);
}

convoy_status cvy_file_read(const char *path, cvy_file_kind kind, size_t most, char **bytes,
                            size_t *count) {
  struct stat about;
  int fd = -1;
  *bytes = NULL;
  *count = 0;
  convoy_status status = open_regular(path, O_RDONLY, kind, &fd, &about);
  if (status) return status;
  if (about.st_size > (off_t)most)
    status = too_large(path, (uint64_t)about.st_size, most);
  else if (!read_all(fd, most, bytes, count))
    status = *count > most ? too_large(path, *count, most) : cvy_io_error("read", path);
  close(fd);
  return status;
}

char *cvy_file_read_system(const char *path) {
  enum { MOST = 64 << 10 };
  size_t count;
  char *text;
  const int fd = cvy_fd_above(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd < 0) return NULL;
  read_all(fd, MOST, &text, &count);
  close(fd);
  return text;
}
