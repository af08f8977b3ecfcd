/* Locks between processes. A lock is tried again and again instead of waited for: the process that
 * has it may be stopped, or the file lie on a file system that never answers a wait. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

/* 0, or why not: EWOULDBLOCK if another process has it. */
static int try_lock(int fd) {
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int cvy_file_lock(const char *path, double seconds) {
  int fd = -1;
  cvy_file_parents(path);
  if (cvy_file_open(path, O_RDWR | O_CREAT, &fd)) return -1;
  double until = cvy_clock() + seconds;
  for (int why; (why = try_lock(fd)) != 0;) {
    if (why != EWOULDBLOCK || cvy_clock() >= until) { /* some file systems have no locks */
      cvy_fail(CONVOY_ERR_IO, "cannot lock %s: %s", path, strerror(why));
      close(fd);
      return -1;
    }
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  }
  return fd;
}

void cvy_file_unlock(int lock) {
  if (lock >= 0) close(lock);
}
