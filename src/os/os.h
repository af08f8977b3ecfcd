/* What Convoy asks of the operating system. One small file behind each part; a test replaces a part
 * by linking its own file in that place. Nothing above this folder calls Linux directly. */
#ifndef CVY_OS_H
#define CVY_OS_H

#include <stdatomic.h>

#include "base/base.h"

/* ----------------------------------------------------------------------------- clock.c */

double cvy_clock(void); /* monotonic seconds */

/* ------------------------------------------------------------------------------ file.c */

/* Replaces the file as a whole or not at all: temporary file beside it, fsync, rename. Makes the
 * missing parent folders. */
convoy_status cvy_file_write(const char *path, const void *bytes, size_t count);
/* Whole file, malloc'ed, with a terminating 0 behind its *count bytes; NULL if unreadable. */
void *cvy_file_read(const char *path, size_t *count);

/* --------------------------------------------------------------------------- folders.c */

/* Each writes a path without a trailing slash; false if there is none or it does not fit. */
bool cvy_cache_folder(char *path, size_t size);   /* CONVOY_CACHE_DIR, XDG cache */
bool cvy_config_folder(char *path, size_t size);  /* XDG config */
bool cvy_libexec_folder(char *path, size_t size); /* CONVOY_LIBEXEC, else beside the library */

/* ---------------------------------------------------------------------------- shared.c */

/* Memory that two processes can map. Not inherited by fork() unless `inherit` says so: a child must
 * not reach into its parent's ring. The descriptor may be closed once the other side has it. */
typedef struct cvy_shared {
  void *memory;
  size_t bytes;
  int fd; /* -1: closed */
} cvy_shared;

convoy_status cvy_shared_make(size_t bytes, bool inherit, cvy_shared *out);
/* Maps what another process made; fails unless the file has at least `bytes`. Closes fd. */
convoy_status cvy_shared_map(int fd, size_t bytes, cvy_shared *out);
void cvy_shared_close_fd(cvy_shared *shared);
void cvy_shared_drop(cvy_shared *shared);

/* -------------------------------------------------------------------------- doorbell.c */

/* A counter that rings, in shared memory. To wait without missing a ring: take `seen`, look at what
 * was to be changed, then wait for a count other than `seen`. */
typedef struct cvy_doorbell {
  _Atomic uint32_t count;
  _Atomic uint32_t sleepers;
} cvy_doorbell;

uint32_t cvy_doorbell_seen(cvy_doorbell *bell);
void cvy_doorbell_ring(cvy_doorbell *bell);
/* Returns after a ring, a signal or `seconds` (negative: no limit); the caller looks again. */
void cvy_doorbell_wait(cvy_doorbell *bell, uint32_t seen, double seconds);

/* ------------------------------------------------------------------------------ pass.c */

/* A connected pair of packet sockets, closed on exec. */
convoy_status cvy_pass_pair(int sockets[2]);
/* One packet, with a descriptor unless fd is -1. Never blocks. */
convoy_status cvy_pass_send(int socket, const void *bytes, size_t count, int fd);
/* One packet of exactly `count` bytes; *fd becomes -1 if none came with it. Waits at most
 * `seconds`; fails at once when the other side is closed. */
convoy_status cvy_pass_receive(int socket, void *bytes, size_t count, int *fd, double seconds);

/* --------------------------------------------------------------------------- process.c */

int cvy_process_id(void);

typedef struct cvy_process {
  int pid;
  int watch; /* pidfd */
} cvy_process;

/* Starts a program in a session of its own, environment unchanged, signals at their defaults; it
 * finds `fd` as CVY_PROCESS_FD, and stdin, stdout, stderr as they are here. */
#define CVY_PROCESS_FD 3
convoy_status cvy_process_start(const char *path, char *const argv[], int fd, cvy_process *out);
/* Waits at most `seconds` for its end and reaps it; true if it has ended, with a half-sentence such
 * as "was killed by signal 9 (Killed)" in `how`. */
bool cvy_process_ended(cvy_process *process, double seconds, char *how, size_t size);
/* SIGABRT, then SIGKILL, waiting at most `patience` seconds after each; false: it did not die. */
bool cvy_process_kill(cvy_process *process, double patience);
/* Forgets a process that has ended or will not. */
void cvy_process_drop(cvy_process *process);
/* In the program started: closes what it inherited besides stdin, stdout, stderr and its fd. */
void cvy_process_close_others(void);

/* A descriptor for the life of process `pid`, -1 if it is not there, and waiting for its end. */
int cvy_process_watch(int pid);
void cvy_process_watch_end(int watch);

#endif
