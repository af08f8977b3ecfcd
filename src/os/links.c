/* Where symbolic links lead. The kernel finds that too, but only where there is something. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"

/* The text of a link, and whose it is; "" if there is none, or something else. False: errno. */
static bool read_link(const char *path, char *text, size_t size, struct stat *about) {
  text[0] = 0;
  const int fd = cvy_fd_above(open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (fd < 0) return errno == ENOENT;
  ssize_t length =
      fstat(fd, about) || !S_ISLNK(about->st_mode) ? 0 : readlinkat(fd, "", text, size);
  const int why = (size_t)length == size ? ENAMETOOLONG : errno;
  close(fd);
  errno = why;
  if (length < 0 || (size_t)length == size) return false;
  text[length] = 0;
  return true;
}

/* A user who may put links into a folder for all could have Convoy write wherever its user may.
 * Linux has the same rule for links that it follows itself (fs.protected_symlinks). */
static bool is_planted(const char *folder, const struct stat *link) {
  struct stat about;
  if (link->st_uid == geteuid() || link->st_uid == 0) return false;
  if (stat(folder, &about)) return true;
  return (about.st_mode & S_ISVTX) && (about.st_mode & S_IWOTH) && about.st_uid != link->st_uid;
}

/* Cuts the path behind the last slash; without one it is in the working folder. */
static const char *folder_of(char *path) {
  char *slash = strrchr(path, '/');
  path[slash ? slash - path + 1 : 0] = 0;
  return slash ? path : ".";
}

/* Puts where a link leads into the place of its own path. */
static convoy_status go_on(const char *text, const struct stat *link, char *path, size_t size) {
  char folder[4096];
  cvy_text_copy(folder, sizeof folder, path);
  if (is_planted(folder_of(folder), link))
    return cvy_fail(CONVOY_ERR_IO, "%s is a symbolic link of user %u in a folder for all", path,
                    (unsigned)link->st_uid);
  cvy_text name = cvy_text_in(path, size);
  cvy_text_add(&name, "%s%s", text[0] == '/' ? "" : folder, text);
  if (!name.overflow && strlen(folder) + 1 < sizeof folder) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "a symbolic link in %s leads to a path of more than %zu bytes",
                  folder, size - 1);
}

convoy_status cvy_file_follow_one(char *path, size_t size, bool *link) {
  char text[4096];
  struct stat about;
  *link = false;
  if (!read_link(path, text, sizeof text, &about)) return cvy_io_error("look at", path);
  *link = text[0] != 0;
  return *link ? go_on(text, &about, path, size) : CONVOY_OK;
}

convoy_status cvy_file_follow(char *path, size_t size) {
  char first[4096];
  bool link = true;
  convoy_status status = CONVOY_OK;
  cvy_text_copy(first, sizeof first, path);
  for (int links = 0; link && !status; links++) {
    if (links > CVY_MOST_LINKS) errno = ELOOP;
    if (links > CVY_MOST_LINKS) return cvy_io_error("write", first);
    status = cvy_file_follow_one(path, size, &link);
  }
  return status;
}
