/* Files are written: replaced as a whole, appended to, removed. A file that is written appears
 * complete or not at all, also when the machine loses power: data first, then the name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/file.h"

void cvy_file_parents(const char *path) {
  char folder[4096];
  if (strlen(path) >= sizeof folder) return;
  strcpy(folder, path);
  for (char *at = folder + 1; folder[0] && *at; ++at) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(folder, 0700); /* failing matters only if the file cannot be made, and is said there */
    *at = '/';
  }
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

/* ------------------------------------------------------------------------------------- bytes */

/* The signal for writing beyond the process's limit would end the trainer. */
static convoy_status check_limit(const char *path, size_t count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY) return CONVOY_OK;
  if (count <= limit.rlim_cur) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "cannot write %s: %zu bytes, and this process may write %llu",
                  path, count, (unsigned long long)limit.rlim_cur);
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

static bool write_pieces(int fd, const cvy_file_piece *pieces, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!write_all(fd, pieces[i].bytes, pieces[i].count)) return false;
  return true;
}

static size_t bytes_of(const cvy_file_piece *pieces, size_t count) {
  size_t all = 0;
  for (size_t i = 0; i < count; i++) all += pieces[i].count;
  return all;
}

/* -------------------------------------------------------------------------------------- mode */

#define RIGHTS                                                                      \
  "system.posix_acl_access" /* of single users and groups, beside those of the mode \
                             */

/* The old file's rights of single users, or none: a folder may give its new files some. */
static bool copy_rights(int fd, const char *old) {
  char rights[8192];
  const ssize_t bytes = lgetxattr(old, RIGHTS, rights, sizeof rights);
  if (bytes > 0) return fsetxattr(fd, RIGHTS, rights, (size_t)bytes, 0) == 0;
  const bool none = bytes == 0 || errno == ENODATA || errno == ENOTSUP;
  fremovexattr(fd, RIGHTS);
  return none;
}

/* Makes the new file as open as the old one, and its owner's. A group that it cannot be given to,
 * or whose rights are not to be had, gets those that everybody has. */
static bool take_after(int fd, const char *path, const struct stat *old) {
  const mode_t of_all = old->st_mode & 0007;
  mode_t mode = old->st_mode & 0777;
  struct stat own;
  if (fstat(fd, &own)) return false;
  bool same = own.st_uid == old->st_uid && own.st_gid == old->st_gid;
  same =
      same || fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, own.st_uid, old->st_gid) == 0;
  if (!same || !copy_rights(fd, path)) mode &= ~(mode_t)0070 | of_all << 3;
  return fchmod(fd, mode) == 0;
}

/* --------------------------------------------------------------------------------- replacing */

/* For whom a file is replaced. */
typedef struct manner {
  bool follows; /* a symbolic link stays, and what it leads to is replaced */
  bool keeps;   /* mode, owner and group of what was there */
  bool lasting; /* also when the machine loses power */
  mode_t fresh; /* of a file that was not there, less the umask */
} manner;

/* Only the user may write to Convoy's own files, whatever the umask is: they would not be
 * read again. */
static const manner users = {true, true, true, 0666}, own = {false, true, true, 0644},
                    cached = {false, false, false, 0644};

static bool put(const manner *how, const cvy_partial *partial, const char *path,
                const struct stat *old, const cvy_file_piece *pieces, size_t count) {
  return write_pieces(partial->fd, pieces, count) && (!old || take_after(partial->fd, path, old)) &&
         (!how->lasting || fsync(partial->fd) == 0);
}

static convoy_status replace_at(const char *path, const manner *how, const cvy_file_piece *pieces,
                                size_t count) {
  struct stat old;
  cvy_partial partial;
  const bool kept = how->keeps && lstat(path, &old) == 0;
  convoy_status status = kept ? cvy_file_check_kind(path, &old) : CONVOY_OK;
  if (!status) status = check_limit(path, bytes_of(pieces, count));
  if (status) return status;
  cvy_file_parents(path);
  status = cvy_partial_begin(path, kept ? 0600 : how->fresh, &partial);
  if (status) return status;
  if (!put(how, &partial, path, kept ? &old : NULL, pieces, count) ||
      !cvy_partial_end(&partial, path)) {
    status = cvy_io_error("write", path);
    cvy_partial_drop(&partial);
  } else if (how->lasting) {
    sync_parent(path);
  }
  return status;
}

static convoy_status replace(const char *path, const manner *how, const cvy_file_piece *pieces,
                             size_t count) {
  char target[4096];
  if (strlen(path) >= sizeof target)
    return cvy_fail(CONVOY_ERR_IO, "path of %zu bytes is too long", strlen(path));
  strcpy(target, path);
  convoy_status status = how->follows ? cvy_file_follow(target, sizeof target) : CONVOY_OK;
  return status ? status : replace_at(target, how, pieces, count);
}

convoy_status cvy_file_write(const char *path, const void *bytes, size_t count) {
  return replace(path, &own, &(cvy_file_piece){bytes, count}, 1);
}

convoy_status cvy_file_save(const char *path, const cvy_file_piece *pieces, size_t count) {
  return replace(path, &users, pieces, count);
}

convoy_status cvy_file_cache(const char *path, const cvy_file_piece *pieces, size_t count) {
  return replace(path, &cached, pieces, count);
}

/* ------------------------------------------------------------------------ appended, removed */

convoy_status cvy_file_append(const char *path, const char *text) {
  struct stat about;
  int fd = -1;
  convoy_status status = cvy_file_open(path, O_WRONLY | O_APPEND, &fd);
  if (status) return status;
  if (fstat(fd, &about)) status = cvy_io_error("look at", path);
  if (!status) status = check_limit(path, (size_t)about.st_size + strlen(text));
  if (!status && (!write_all(fd, text, strlen(text)) || fsync(fd)))
    status = cvy_io_error("write", path);
  close(fd);
  return status;
}

void cvy_file_remove(const char *path) {
  if (unlink(path) == 0) sync_parent(path);
}
