/* What the parts of this folder that open, read and write files have in common. */
#ifndef CVY_OS_FILE_H
#define CVY_OS_FILE_H

#include <sys/stat.h>

#include "os/os.h"

/* ERR_IO: "cannot read /a/b: " and what errno says. */
convoy_status cvy_io_error(const char *what, const char *path);
/* ERR_IO unless it is a regular file, with what it is instead. */
convoy_status cvy_file_check_kind(const char *path, const struct stat *about);
/* By the convention of user private groups the group of a user's own number is the user's alone.
 * With a umask of 002, which goes with it, whatever he makes is writable for that group. */
bool cvy_file_has_private_group(const struct stat *about);

/* ----------------------------------------------------------------------------- links.c */

/* Replaces the path of a symbolic link by that of what it leads to, through all further ones,
 * whether there is anything. ERR_IO for links that lead in a circle, and for one that another user
 * has put into a folder for all, such as /tmp. */
convoy_status cvy_file_follow(char *path, size_t size);
/* The same for one link, if it is one. */
enum { CVY_MOST_LINKS = 40 }; /* as many as the kernel follows */
convoy_status cvy_file_follow_one(char *path, size_t size, bool *link);

/* --------------------------------------------------------------------------- partial.c */

/* A file that is being written, in the folder where it will get its name. */
typedef struct cvy_partial {
  int fd;
  char path[4096];
} cvy_partial;

/* Makes an empty one with this mode, less the umask, in the folder of `path`, and removes those
 * there whose writer is gone. */
convoy_status cvy_partial_begin(const char *path, mode_t mode, cvy_partial *out);
/* The file gets its name, at once and in the place of any other; false, and errno: it is removed.
 */
bool cvy_partial_end(cvy_partial *partial, const char *path);
void cvy_partial_drop(cvy_partial *partial);

#endif
