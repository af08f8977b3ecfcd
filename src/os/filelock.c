/* Locks between processes. A lock is tried again and again instead of waited for: the process that
 * has it may be stopped, or the file lie on a file system that never answers a wait. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

static bool try_lock(int fd) {
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

int cvy_file_lock(const char *path, double seconds) {
  cvy_file_parents(path);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  double until = cvy_clock() + seconds;
  while (!try_lock(fd)) {
    if (cvy_clock() >= until) {
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
