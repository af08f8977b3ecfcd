/* Descriptors 0 to 2 are the program's, also while it has closed them, as daemons do: one of the
 * library's in their place would receive what the program prints, and be closed when it opens its
 * streams again. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/os.h"

int cvy_fd_above(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int why = errno;
  close(fd);
  errno = why;
  return above;
}

bool cvy_fd_pair_above(int pair[2]) {
  pair[0] = cvy_fd_above(pair[0]);
  pair[1] = cvy_fd_above(pair[1]);
  if (pair[0] >= 0 && pair[1] >= 0) return true;
  const int why = errno;
  for (int i = 0; i < 2; ++i)
    if (pair[i] >= 0) close(pair[i]);
  errno = why;
  return false;
}

FILE *cvy_fd_stream(const char *path) {
  const int fd = cvy_fd_above(open(path, O_RDONLY | O_CLOEXEC));
  FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
  if (fd >= 0 && !stream) close(fd);
  return stream;
}
