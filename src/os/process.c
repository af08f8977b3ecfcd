/* Child processes, watched through descriptors of their life: a number may be reused, and a host
 * program that reaps all its children must not confuse us. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

extern char **environ;

int cvy_process_id(void) {
  return (int)getpid();
}

int cvy_process_pidfd(int pid) {
  return cvy_fd_above((int)syscall(SYS_pidfd_open, pid, 0));
}

/* What lies between two looks counts as LOOK_SECONDS at most: where nothing ran for longer, the
 * process that is to end did not run either. */
#define LOOK_SECONDS 0.05

static bool ends_within(int pidfd, double seconds) {
  struct pollfd wait = {.fd = pidfd, .events = POLLIN};
  for (double left = seconds, last = cvy_clock();;) {
    const double look = fmax(fmin(left, LOOK_SECONDS), 0);
    if (poll(&wait, 1, (int)ceil(look * 1e3)) > 0) return true;
    const double now = cvy_clock();
    left -= fmin(now - last, LOOK_SECONDS);
    last = now;
    if (left <= 0) return false;
  }
}

/* A process that ends closes its descriptors some time before it counts as ended. */
#define ENDING_SECONDS 1.0

bool cvy_process_await_end(int pidfd, int socket) {
  struct pollfd waits[] = {{.fd = pidfd, .events = POLLIN}, {.fd = socket}}; /* POLLHUP only */
  while (poll(waits, 2, -1) < 0 && errno == EINTR) continue;
  return ends_within(pidfd, ENDING_SECONDS);
}

/* Also for those that the program keeps to itself. */
static void complete_streams(posix_spawn_file_actions_t *actions) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC))
      posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
  }
}

/* What a driver reads there names code too: in a privileged program its caller must not say it. */
static char *const *environment(void) {
  static char *const nothing[] = {NULL};
  return cvy_is_privileged() ? nothing : environ;
}

static int spawn(const char *path, char *const argv[], int fd, pid_t *pid) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawn_file_actions_adddup2(&actions, fd, CVY_PROCESS_FD);
  complete_streams(&actions);
  int error = posix_spawn(pid, path, &actions, &attributes, argv, environment());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

convoy_status cvy_process_start(const char *path, char *const argv[], int fd, cvy_process *out) {
  pid_t pid;
  int error = spawn(path, argv, fd, &pid);
  if (error) return cvy_fail(CONVOY_ERR_DEVICE, "cannot start %s: %s", path, strerror(error));
  int pidfd = cvy_process_pidfd((int)pid);
  if (pidfd < 0) {
    error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return cvy_fail(CONVOY_ERR_DEVICE, "cannot watch process %d: %s", (int)pid, strerror(error));
  }
  *out = (cvy_process){(int)pid, pidfd};
  return CONVOY_OK;
}

static void say_how(int pidfd, char *how, size_t size) {
  siginfo_t info = {0};
  cvy_text text = cvy_text_in(how, size);
  if (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 || info.si_pid == 0)
    cvy_text_add(&text, "ended"); /* the host program has reaped it */
  else if (info.si_code == CLD_EXITED)
    cvy_text_add(&text, "exited with status %d", info.si_status);
  else
    cvy_text_add(&text, "was killed by signal %d (%s)", info.si_status, strsignal(info.si_status));
}

bool cvy_process_ended(cvy_process *process, double seconds, char *how, size_t size) {
  if (!ends_within(process->pidfd, seconds)) return false;
  say_how(process->pidfd, how, size);
  return true;
}

bool cvy_process_kill(cvy_process *process, double seconds) {
  static const int signals[] = {SIGABRT, SIGKILL};
  char how[64];
  for (size_t i = 0; i < CVY_COUNT(signals); ++i) {
    cvy_os.signal(process->pidfd, signals[i]);
    if (cvy_process_ended(process, seconds, how, sizeof how)) return true;
  }
  return false;
}

void cvy_process_drop(cvy_process *process) {
  if (process->pidfd >= 0) close(process->pidfd);
  *process = (cvy_process){0, -1};
}

void cvy_process_close_others(void) {
  close_range(CVY_PROCESS_FD + 1, ~0u, 0);
}
