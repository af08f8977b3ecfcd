/* What Convoy asks of the operating system. One small file behind each part; a test replaces a part
 * by linking its own file in that place. Nothing above this folder calls Linux directly. */
#ifndef CVY_OS_H
#define CVY_OS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"

/* ----------------------------------------------------------------------------- clock.c */

double cvy_clock(void); /* monotonic seconds */

/* ------------------------------------------------------------------------------ seam.c */

/* What a process is doing. */
typedef struct cvy_process_look {
  char state;         /* R running, S asleep, D in the kernel, T stopped, ... of its main thread */
  int tracer;         /* pid of its debugger, 0: none */
  double cpu_seconds; /* of all its threads */
} cvy_process_look;

/* What watching over a worker asks of the system. Tests put functions of their own here, before
 * there are threads, to pretend what cannot be had at will: a machine asleep, a process nothing can
 * kill. */
typedef struct cvy_os_seam {
  double (*clock)(void);            /* as cvy_clock: stands still while the machine sleeps */
  double (*clock_with_sleep)(void); /* seconds; goes on */
  bool (*look)(int pid, cvy_process_look *out); /* false: cannot be seen */
  void (*signal)(int pidfd, int number);        /* to the process of a pidfd */
} cvy_os_seam;
extern cvy_os_seam cvy_os;

/* -------------------------------------------------------------------------------- fd.c */

/* Every descriptor that is made goes through here: moves one that came to be 0, 1 or 2 above them;
 * it is closed on exec then. -1: there was none, or cannot be; errno says why. */
int cvy_fd_above(int fd);
/* The same for both of a pair; false if one cannot be, then both are closed. */
bool cvy_fd_pair_above(int pair[2]);
/* A text file of the system's, to be read line by line and closed by fclose; NULL: there is none */
FILE *cvy_fd_stream(const char *path);

/* ------------------------------------------------------------------------------ date.c */

int64_t cvy_date(void); /* seconds since 1970: for what outlives the process */
/* The same as 2026-11-20T12:34:56Z, universal time; `size` 21 suffices. */
void cvy_calendar(char *text, size_t size);

/* --------------------------------------------------------------------------- replace.c */

/* Replaces a file of Convoy's own as a whole or not at all: a file beside it, fsync, rename. Makes
 * the missing parent folders, for this user alone. ERR_IO for what is no regular file, a symbolic
 * link too. What was there passes on its mode, and its owner and group as far as this process may;
 * a new file is never writable for others. */
convoy_status cvy_file_write(const char *path, const void *bytes, size_t count);
/* The same of several pieces, one behind the other, for a file of the user's, who names it: a
 * symbolic link stays, and what it leads to is replaced, as another folder's file there. A new file
 * has the mode that the umask leaves. */
typedef struct cvy_file_piece {
  const void *bytes;
  size_t count;
} cvy_file_piece;
convoy_status cvy_file_save(const char *path, const cvy_file_piece *pieces, size_t count);
/* As cvy_file_write, but in the place of anything, and without waiting for the disk, where a
 * process can be neither asked nor killed: for what is checked when it is read, and made again when
 * a loss of power has damaged it. */
convoy_status cvy_file_cache(const char *path, const cvy_file_piece *pieces, size_t count);
/* Makes the folders above the file that are missing; what fails shows when the file is made. */
void cvy_file_parents(const char *path);
/* Appends to a file that is there, under the conditions of cvy_file_read for texts. */
convoy_status cvy_file_append(const char *path, const char *text);
/* Gone for good once it returns, also when the machine loses power. */
void cvy_file_remove(const char *path);

/* ------------------------------------------------------------------------------ file.c */

/* Who may have written a file, or to a folder: this user and root alone, for code; for texts of the
 * user's also his private group, the one of his own number; anybody for what is installed with the
 * library, which is as trusted as that. */
typedef enum cvy_file_kind { CVY_FILE_TEXT, CVY_FILE_CODE, CVY_FILE_INSTALLED } cvy_file_kind;

/* A whole file, malloc'ed, with a terminating 0 behind its *count bytes. Nothing but a regular file
 * of at most `most` bytes is read, that only those could have written who may; no symbolic link is
 * followed but to what is installed, and nothing waited for. ERR_NOT_FOUND, without a sentence, if
 * there is none; else ERR_IO with what is wrong with it. */
convoy_status cvy_file_read(const char *path, cvy_file_kind kind, size_t most, char **bytes,
                            size_t *count);
/* The text of a file of /proc, /sys or /etc, malloc'ed; NULL if it cannot be read. No sentence. */
char *cvy_file_read_system(const char *path);
/* ERR_IO if others could put files into the folder or take them away; without the sticky bit, that
 * is, which leaves each his own. A folder that is not there is good. */
convoy_status cvy_folder_check(const char *path, cvy_file_kind kind);
/* Opens a file with flags of open(2), under the conditions of cvy_file_read for texts. */
convoy_status cvy_file_open(const char *path, int flags, int *fd);
/* Opens data that anybody may have written, for reading; links are followed. Only a regular file
 * is, and nothing waited for. ERR_NOT_FOUND with a sentence if there is none, else ERR_IO. */
convoy_status cvy_file_open_data(const char *path, int *fd, int64_t *bytes);
/* Reads all of these bytes of an open file; ERR_IO, also where it ends before. */
convoy_status cvy_file_read_at(int fd, const char *path, int64_t offset, void *bytes, size_t count);
void cvy_file_close(int fd);
/* The first lines of files that may block their readers, such as those of a hung driver:
 * another process reads, for at most `seconds`. Each line begins with the path and a colon. */
void cvy_file_peek(const char *const paths[], int count, double seconds, char *text, size_t size);

/* -------------------------------------------------------------------------- filelock.c */

/* Keeps other processes, and other threads that ask, out while a file is read and replaced: a lock
 * on the file `path`, made if it is not there. Waits at most `seconds`; -1 with a sentence if it
 * was not to be had. */
int cvy_file_lock(const char *path, double seconds);
void cvy_file_unlock(int lock);

/* --------------------------------------------------------------------------- folders.c */

/* Where relative names of files and folders begin, whatever the program does to its working folder:
 * where that was when this was first asked for. "" if it cannot be told. */
const char *cvy_start_folder(void);
/* Begin there instead; before anybody asks. For the worker, and for the module with its copy of
 * this. */
void cvy_start_in(const char *folder);
/* The name as an absolute path; ERR_IO with a sentence if there is none or it does not fit. */
convoy_status cvy_absolute(const char *name, char *path, size_t size);

/* The absolute path of a folder, or of a file in it: `part` ("" or "/name") is the folder inside
 * Convoy's, `file` ("" or "/name") is in that. With a sentence, ERR_NOT_FOUND if nothing says where
 * that is, ERR_IO if it does not fit or others could write to it (cvy_folder_check). */
convoy_status cvy_cache_path(const char *part, const char *file, char *path, size_t size);
convoy_status cvy_state_path(const char *part, const char *file, char *path, size_t size);
/* The user's tuning file, wherever it is. */
convoy_status cvy_tune_path(char *path, size_t size);

/* ------------------------------------------------------------------------- installed.c */

/* The file that this code was loaded from, without links: the library, or the program where that
 * has it in itself. "" if it cannot be told. */
const char *cvy_library_path(void);
bool cvy_libexec_folder(char *path, size_t size); /* CONVOY_LIBEXEC, else beside the library */
/* Folder `part` of what is installed in share/convoy: beside the library or one or two folders
 * up. */
bool cvy_share_folder(const char *part, char *path, size_t size);

/* ---------------------------------------------------------------------------- trust.c */

/* Puts its real path into the place of a program's or module's. ERR_IO if others than this user,
 * root and those who may replace the library could have written it, or put it there. */
convoy_status cvy_code_find(char *path, size_t size);

/* -------------------------------------------------------------------------- listing.c */

/* Calls `visit` for everything in the folder whose name is wanted, in order of the names' bytes,
 * with its place and how many there are. A folder that is not there has nothing; ERR_IO if it
 * cannot be read. */
typedef bool cvy_name_fn(const char *name);
typedef void cvy_visit_fn(void *user, const char *path, int index, int count);
convoy_status cvy_folder_visit(const char *folder, cvy_name_fn *wanted, cvy_visit_fn *visit,
                               void *user);

/* ------------------------------------------------------------------------------ boot.c */

/* Which boot of the machine this is; false if it does not say. */
bool cvy_boot_id(char *text, size_t size);
int64_t cvy_boot_began(void); /* seconds since 1970 */
/* Which machine of those that share a home folder; "" if it does not say, as in many containers. */
void cvy_machine_id(char *text, size_t size);
/* In which PID namespace this process is. In all but the kernel's first one, those of containers,
 * the end of the first process takes all others along at once. "" if it cannot be told. */
#define CVY_FIRST_PID_NAMESPACE "pid:[4026531836]"
void cvy_pid_namespace(char *text, size_t size);
/* When process `pid` was started, in ticks since the boot; 0 if there is none. A number may be used
 * again, number and start together are not. */
uint64_t cvy_process_born(int pid);

/* -------------------------------------------------------------------------- lookback.c */

/* A boot of this machine that is over, in seconds since 1970. */
typedef struct cvy_past_boot {
  int64_t since, seen; /* given: it was alive at both */
  int64_t until;       /* given: when this boot began; becomes the start of one between, if known */
  int64_t alive;       /* found: its last sign of life, `seen` if there is none */
  bool orderly;        /* found: it was shut down */
} cvy_past_boot;
/* Finds what the system knows; `root` is "" but for tests. */
void cvy_boot_look_back(const char *root, cvy_past_boot *boot);
/* The same from records of logins alone, as they are in wtmp. */
void cvy_boot_read_logins(const void *records, size_t bytes, cvy_past_boot *boot);

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
/* Puts fresh pages in the place of whole ones of shared memory, all zero: this process parts with
 * those that other mappings go on to show. */
convoy_status cvy_shared_renew(void *at, size_t bytes);
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
/* Whether it rings within so many seconds, awake: leaves the processor to everybody else
 * meanwhile. */
bool cvy_doorbell_linger(const cvy_doorbell *bell, uint32_t seen, double seconds);
/* Returns after a ring, a signal or `seconds` (negative: no limit); the caller looks again. */
void cvy_doorbell_wait(cvy_doorbell *bell, uint32_t seen, double seconds);

/* ------------------------------------------------------------------------------ pass.c */

/* A connected pair of packet sockets, closed on exec. */
convoy_status cvy_pass_pair(int sockets[2]);
/* One packet, with a descriptor unless fd is -1. Never blocks. */
convoy_status cvy_pass_send(int socket, const void *bytes, size_t count, int fd);
/* Whether a packet, or the end of the other side, comes within `seconds`. */
bool cvy_pass_waiting(int socket, double seconds);
/* One packet of exactly `count` bytes, with at most one descriptor; *fd becomes -1 if none came.
 * `fd` NULL: none may. What comes beyond that is closed and refused. Waits at most `seconds`; fails
 * at once when the other side is closed. */
convoy_status cvy_pass_receive(int socket, void *bytes, size_t count, int *fd, double seconds);

/* --------------------------------------------------------------------------- process.c */

int cvy_process_id(void);

typedef struct cvy_process {
  int pid;
  int pidfd;
} cvy_process;

/* Starts a program in a session of its own, environment unchanged (that of a privileged program is
 * empty), signals at their defaults; it finds `fd` as CVY_PROCESS_FD, and stdin, stdout, stderr as
 * they are here, or /dev/null where one is closed: no file that it opens may come to be one of
 * them. */
#define CVY_PROCESS_FD 3
convoy_status cvy_process_start(const char *path, char *const argv[], int fd, cvy_process *out);
/* Waits at most `seconds` for its end and reaps it; true if it has ended, with a half-sentence such
 * as "was killed by signal 9 (Killed)" in `how`. */
bool cvy_process_ended(cvy_process *process, double seconds, char *how, size_t size);
/* SIGABRT, then SIGKILL, waiting at most `seconds` seconds after each; false: it did not die. */
bool cvy_process_kill(cvy_process *process, double seconds);
/* Forgets a process that has ended or will not. */
void cvy_process_drop(cvy_process *process);
/* In the program started: closes what it inherited besides stdin, stdout, stderr and its fd. */
void cvy_process_close_others(void);

/* A descriptor for the life of process `pid`, -1 if it is not there, and waiting for its end. */
int cvy_process_pidfd(int pid);
/* False: only the other end of `socket` was closed. A program that replaces itself (exec) keeps its
 * number, but not its descriptors. */
bool cvy_process_await_end(int pidfd, int socket);

/* ----------------------------------------------------------------------------- forked.c */

/* Whether this process was made by fork() and runs its parent's program; also where that cannot be
 * told. */
bool cvy_process_is_forked(void);

/* ------------------------------------------------------------------------------- copy.c */

/* memcpy, by several threads where that is worth it; 0 bytes are legal, with any pointers. */
void cvy_copy(void *to, const void *from, int64_t bytes);

typedef struct cvy_copy_part {
  void *to;
  const void *from;
  int64_t bytes;
} cvy_copy_part;

/* Called on the caller's thread, in order, when part `i` is there; others may be on their way. */
typedef void cvy_copied_fn(void *user, int32_t i);

/* The same for many at once; `copied` may be NULL. */
void cvy_copy_parts(const cvy_copy_part *parts, int32_t count, cvy_copied_fn *copied, void *user);
/* How many threads a copy is worth on a machine with so many processors, and a copy by so many. */
int32_t cvy_copy_threads(int64_t bytes, int32_t processors);
void cvy_copy_by(const cvy_copy_part *parts, int32_t count, int32_t threads, cvy_copied_fn *copied,
                 void *user);

/* ----------------------------------------------------------------------------- thread.c */

/* Starts a thread of the library: without the program's signals, but for those of its own faults,
 * and with a name of at most 15 characters. False if the system gives no thread. */
bool cvy_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name);
/* Calls a function with the signal mask of the library's threads, which those that it starts
 * inherit. */
void cvy_thread_call_masked(void (*call)(void *arg), void *arg);
/* Whether the system would give this process so many threads more. Starts and ends them. */
bool cvy_threads_could_start(int32_t count);

#endif
