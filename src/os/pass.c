/* Packets and descriptors between two processes. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os.h"

/* Room for one descriptor, aligned for its header. */
typedef union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
} control;

convoy_status cvy_pass_pair(int sockets[2]) {
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0 &&
      cvy_fd_pair_above(sockets))
    return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "cannot make a socket pair: %s", strerror(errno));
}

convoy_status cvy_pass_send(int socket, const void *bytes, size_t count, int fd) {
  struct iovec part = {(void *)(uintptr_t)bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  control room = {0};
  if (fd >= 0) {
    message.msg_control = &room;
    message.msg_controllen = sizeof room.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)count) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "cannot send %zu bytes: %s", count, strerror(errno));
}

bool cvy_pass_waiting(int socket, double seconds) {
  struct pollfd wait = {.fd = socket, .events = POLLIN};
  double end = cvy_clock() + seconds;
  int got;
  do {
    double left = end - cvy_clock();
    got = poll(&wait, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
  } while (got < 0 && errno == EINTR);
  return got > 0;
}

/* The descriptors that came with a message: the first, which may be -1, and their number. As the
 * kernel has opened all of them here, the others are closed. */
static int take_descriptors(struct msghdr *message, int *first) {
  int count = 0;
  *first = -1;
  for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const unsigned char *data = CMSG_DATA(at), *end = (unsigned char *)at + at->cmsg_len;
    for (int fd; data + sizeof fd <= end; data += sizeof fd, ++count) {
      memcpy(&fd, data, sizeof fd);
      if (count == 0)
        *first = fd;
      else
        close(fd);
    }
  }
  return count;
}

convoy_status cvy_pass_receive(int socket, void *bytes, size_t count, int *fd, double seconds) {
  struct iovec part = {bytes, count};
  control room = {0};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room.bytes};
  const int most = fd ? 1 : 0;
  if (fd) *fd = -1;
  if (!cvy_pass_waiting(socket, seconds))
    return cvy_fail(CONVOY_ERR_IO, "no message within %.1f seconds", seconds);
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) return cvy_fail(CONVOY_ERR_IO, "cannot receive a message: %s", strerror(errno));
  int first;
  const int given = take_descriptors(&message, &first);
  const bool cut = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
  first = cvy_fd_above(first);
  if (got == (ssize_t)count && !cut && given <= most) {
    if (fd) *fd = first;
    return CONVOY_OK;
  }
  if (first >= 0) close(first);
  return cvy_fail(CONVOY_ERR_IO,
                  "message of %zd bytes and %d descriptors%s, %zu and at most %d expected", got,
                  given, cut ? ", cut" : "", count, most);
}
