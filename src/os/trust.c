/* Whose code is run. A user who could have put another library into the place of this one can do in
 * this process what they like. So what the library loads and starts may be theirs too, and this
 * user's and root's, but no others (docs/decisions/049-whose-code-is-run.md). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"

/* Who else may write to it. In a folder with the sticky bit users take away only what is theirs. */
static mode_t open_to(const struct stat *about) {
  const bool sticky = S_ISDIR(about->st_mode) && (about->st_mode & S_ISVTX);
  return sticky ? 0 : about->st_mode & (S_IWGRP | S_IWOTH);
}

static bool has_owner(const struct stat *about, const struct stat *of) {
  return about->st_uid == of->st_uid;
}

static bool is_open_to_group(const struct stat *about, const struct stat *of) {
  return (open_to(about) & S_IWGRP) && about->st_gid == of->st_gid;
}

static bool is_open_to_all(const struct stat *about, const struct stat *of) {
  (void)of;
  return open_to(about) & S_IWOTH;
}

/* Cuts off the last part of an absolute path; false if there is only the root. */
static bool go_up(char *path) {
  char *slash = strrchr(path, '/');
  if (!slash || !path[1]) return false;
  slash[slash == path] = 0;
  return true;
}

/* Whether this is so for the library, or for a folder above it. */
static bool is_so_for_library(bool (*is_so)(const struct stat *about, const struct stat *of),
                              const struct stat *of) {
  char path[4096];
  struct stat about;
  cvy_text_copy(path, sizeof path, cvy_library_path());
  do {
    if (stat(path, &about) == 0 && is_so(&about, of)) return true;
  } while (go_up(path));
  return false;
}

static bool is_trusted(const struct stat *about) {
  const mode_t open = open_to(about);
  const uid_t user = about->st_uid;
  return (user == 0 || user == geteuid() || is_so_for_library(has_owner, about)) &&
         (!(open & S_IWGRP) || cvy_file_has_private_group(about) ||
          is_so_for_library(is_open_to_group, about)) &&
         (!(open & S_IWOTH) || is_so_for_library(is_open_to_all, about));
}

/* Of a real path, which is absolute and without links. What is to be run is called `what`. */
static convoy_status check_upwards(const char *real, const char *what) {
  char path[PATH_MAX];
  struct stat about;
  cvy_text_copy(path, sizeof path, real);
  do {
    if (stat(path, &about)) return cvy_io_error("look at", path);
    if (is_trusted(&about)) continue;
    return cvy_fail(
        CONVOY_ERR_IO,
        "%s is not run: %s belongs to user %u and group %u and has mode %04o; nobody "
        "but user %u, root and who may replace the library should be able to write there",
        what, path, (unsigned)about.st_uid, (unsigned)about.st_gid,
        (unsigned)(about.st_mode & 07777), (unsigned)geteuid());
  } while (go_up(path));
  return CONVOY_OK;
}

/* The same of any path, which becomes a real one. */
static convoy_status make_real(char *path, size_t size, const char *what) {
  char *real = realpath(path, NULL);
  if (!real) return cvy_io_error("look at", path);
  convoy_status status = check_upwards(real, what);
  if (!status && strlen(real) >= size)
    status = cvy_fail(CONVOY_ERR_IO, "the path %.80s... has %zu bytes; %zu fit", real, strlen(real),
                      size - 1);
  if (!status) strcpy(path, real);
  free(real);
  return status;
}

static convoy_status check_folder(const char *path) {
  char folder[4096];
  cvy_text_copy(folder, sizeof folder, path);
  return go_up(folder) ? make_real(folder, sizeof folder, path) : CONVOY_OK;
}

/* Who may write to a folder with a link in it may have it lead to any program of root's. */
convoy_status cvy_code_find(char *path, size_t size) {
  convoy_status status = CONVOY_OK;
  char what[4096];
  bool link = true;
  cvy_text_copy(what, sizeof what, path);
  for (int links = 0; links <= CVY_MOST_LINKS && link && !status; links++) {
    status = check_folder(path);
    if (!status) status = cvy_file_follow_one(path, size, &link);
  }
  return status ? status : make_real(path, size, what);
}
