/* Starting and ending the other side of a lane. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_config.h"
#include "worker/meter.h"
#include "worker/peer.h"
#include "worker/serve.h"

#define KILL_SECONDS 0.4 /* after each signal */

/* ---------------------------------------------------------------------------- parts */

typedef struct parts {
  char worker[4096], module[4096], start[4096];
} parts;

/* Where the same thing is found and started, others must not come between. */
static convoy_status find_part(char *path, size_t size, int mode) {
  if (access(path, mode) == 0) return cvy_code_find(path, size) ? CONVOY_ERR_DEVICE : CONVOY_OK;
  const char *why = strerror(errno);
#if CONVOY_HAVE_OPENCL
  return cvy_fail(CONVOY_ERR_DEVICE, "cannot use %s: %s", path, why);
#else
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "built without OpenCL (%s): cannot use %s: %s",
                  CONVOY_WHY_OPENCL, path, why);
#endif
}

static convoy_status find_parts(bool with_worker, parts *out) {
  static const char worker[] = "/convoy-worker", module[] = "/convoy-ocl.so";
  char *folder = out->worker;
  if (!cvy_libexec_folder(folder, sizeof out->worker - sizeof worker - sizeof module))
    return cvy_fail(CONVOY_ERR_DEVICE, "cannot tell where convoy-worker lies; set CONVOY_LIBEXEC");
  strcat(strcpy(out->module, folder), module);
  strcat(out->worker, worker);
  cvy_text_copy(out->start, sizeof out->start, cvy_start_folder());
  convoy_status status = find_part(out->module, sizeof out->module, R_OK);
  if (!status && with_worker) status = find_part(out->worker, sizeof out->worker, X_OK);
  return status;
}

/* --------------------------------------------------------------------------- thread */

typedef struct thread_start {
  int socket;
  char module[4096];
} thread_start;

static void *serve(void *argument) {
  thread_start *start = argument;
  cvy_shared ring;
  int client;
  if (!cvy_serve_greet(start->socket, &ring, &client))
    cvy_serve(start->socket, &ring, start->module);
  close(start->socket);
  free(start);
  return NULL;
}

static convoy_status start_thread(const parts *found, int *socket, cvy_peer *out) {
  thread_start *start = malloc(sizeof *start);
  if (!start) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for a thread's arguments");
  start->socket = *socket;
  cvy_text_copy(start->module, sizeof start->module, found->module);
  if (!cvy_thread_start(&out->thread, serve, start, "convoy-ocl")) {
    free(start);
    return cvy_fail(CONVOY_ERR_DEVICE, "the system gives no thread");
  }
  *socket = -1;
  return CONVOY_OK;
}

/* ---------------------------------------------------------------------------- nobody */

struct cvy_called {
  int socket;
  char module[4096];
  cvy_server *server; /* NULL: there was no greeting yet, or it was refused */
};

static convoy_status start_nobody(const parts *found, int *socket, cvy_peer *out) {
  struct cvy_called *called = calloc(1, sizeof *called);
  if (!called) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for a command loop");
  called->socket = *socket;
  cvy_text_copy(called->module, sizeof called->module, found->module);
  *socket = -1;
  out->called = called;
  return CONVOY_OK;
}

void cvy_peer_answer(cvy_peer *peer) {
  struct cvy_called *called = peer->called;
  cvy_shared ring;
  int client;
  if (!called || cvy_serve_greet(called->socket, &ring, &client)) return;
  called->server = cvy_serve_begin(called->socket, &ring, called->module);
}

void cvy_peer_step(cvy_peer *peer, const volatile int *interrupt) {
  if (peer->called && peer->called->server) cvy_serve_step(peer->called->server, interrupt);
}

static void end_nobody(cvy_peer *peer) {
  if (peer->called->server) cvy_serve_end(peer->called->server);
  close(peer->called->socket);
  free(peer->called);
  peer->called = NULL;
}

/* ------------------------------------------------------------------------------ peer */

static convoy_status start_process(parts *found, int socket, cvy_process *out) {
  char *argv[] = {found->worker, found->module, found->start, NULL};
  convoy_status status = cvy_process_start(found->worker, argv, socket, out);
  if (!status) cvy_log(CONVOY_LOG_INFO, "worker process %d started", out->pid);
  return status;
}

static cvy_peer_kind kind_of(int32_t isolation) {
  if (isolation == CONVOY_ISOLATION_CALLER) return CVY_PEER_CALLER;
  return isolation == CONVOY_ISOLATION_NONE ? CVY_PEER_THREAD : CVY_PEER_PROCESS;
}

convoy_status cvy_peer_start(int32_t isolation, int *socket, cvy_peer *out) {
  parts found;
  *out = (cvy_peer){.kind = kind_of(isolation), .process = {0, -1}};
  convoy_status status = find_parts(out->kind == CVY_PEER_PROCESS, &found);
  if (status) return status;
  if (out->kind == CVY_PEER_CALLER) return start_nobody(&found, socket, out);
  return out->kind == CVY_PEER_THREAD ? start_thread(&found, socket, out)
                                      : start_process(&found, *socket, &out->process);
}

static bool thread_ended(cvy_wire *wire, double seconds) {
  double end = cvy_clock() + seconds;
  for (;;) {
    uint32_t seen = cvy_doorbell_seen(&wire->progress);
    if (atomic_load(&wire->ended)) return true;
    double left = end - cvy_clock();
    if (left <= 0) return false;
    cvy_doorbell_wait(&wire->progress, seen, left);
  }
}

bool cvy_peer_gone(cvy_peer *peer, cvy_wire *wire, double seconds, char *how, size_t size) {
  char end[128];
  cvy_text text = cvy_text_in(how, size);
  if (peer->kind != CVY_PEER_PROCESS) {
    if (!thread_ended(wire, seconds)) return false;
    cvy_text_add(&text, "the OpenCL engine's %s has ended",
                 peer->kind == CVY_PEER_THREAD ? "thread" : "loop");
    return true;
  }
  if (!cvy_process_ended(&peer->process, seconds, end, sizeof end)) return false;
  cvy_text_add(&text, "worker process %d %s", peer->process.pid, end);
  return true;
}

/* Whether it goes by itself within so many seconds. */
static bool goes(cvy_peer *peer, cvy_wire *wire, double seconds, cvy_meter *meter) {
  char how[192];
  double waited = 0;
  while (!cvy_peer_gone(peer, wire, CVY_LOOK_SECONDS, how, sizeof how)) {
    waited += cvy_meter_look(meter, CVY_LATE_SECONDS);
    if (waited >= seconds) return false;
  }
  cvy_meter_end(meter);
  return true;
}

bool cvy_peer_end(cvy_peer *peer, cvy_wire *wire, double seconds, double *budget) {
  if (peer->kind == CVY_PEER_CALLER) {
    end_nobody(peer);
    return true;
  }
  cvy_meter meter = cvy_meter_begin(budget);
  bool gone = goes(peer, wire, seconds, &meter);
  if (peer->kind == CVY_PEER_THREAD) {
    if (gone)
      pthread_join(peer->thread, NULL);
    else
      pthread_detach(peer->thread);
    return gone;
  }
  gone = gone || cvy_process_kill(&peer->process, KILL_SECONDS);
  cvy_meter_look(&meter, 2 * KILL_SECONDS);
  if (gone) cvy_process_drop(&peer->process);
  return gone;
}
