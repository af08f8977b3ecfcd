/* Files that may block their readers. A process of its own reads: if it is never heard of
 * again, nothing of this one waits for it, not even its exit. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "os/os.h"

enum { MOST_PATHS = 32 };

static size_t read_until(int fd, double end, char *text, size_t size) {
  size_t used = 0;
  for (double left; used + 1 < size && (left = end - cvy_clock()) > 0;) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (poll(&wait, 1, (int)(left * 1e3) + 1) <= 0) continue;
    ssize_t got = read(fd, text + used, size - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += (size_t)got;
  }
  return used;
}

void cvy_file_peek(const char *const paths[], int count, double seconds, char *text, size_t size) {
  static atomic_bool stuck; /* one reader that cannot be ended is enough */
  /* Each line goes out before the next file is opened. */
  const char *arguments[MOST_PATHS + 5] = {
      "sh", "-c", "exec grep -s -H -m 1 --line-buffered '' -- \"$@\" >&3", "sh"};
  int ends[2];
  cvy_process reader;
  char how[64];
  *text = '\0';
  if (count == 0 || atomic_load(&stuck) || pipe2(ends, O_CLOEXEC)) return;
  if (!cvy_fd_pair_above(ends)) return;
  for (int i = 0; i < count && i < MOST_PATHS; i++) arguments[4 + i] = paths[i];
  convoy_status status =
      cvy_process_start("/bin/sh", (char *const *)(uintptr_t)arguments, ends[1], &reader);
  close(ends[1]);
  if (!status) {
    text[read_until(ends[0], cvy_clock() + seconds, text, size)] = '\0';
    bool ended = cvy_process_ended(&reader, 0.05, how, sizeof how);
    if (!ended && !cvy_process_kill(&reader, 0.1)) atomic_store(&stuck, true);
    cvy_process_drop(&reader);
  }
  close(ends[0]);
}
