/* A process in the kernel's uninterruptible sleep takes no signal, and a thread cannot be killed at
 * all. Their memory is no longer mapped here, so nothing they write late is seen by anybody, but it
 * exists until they end. */
#include "worker/abandoned.h"

#include <stdlib.h>

typedef struct abandoned {
  struct abandoned *next;
  cvy_peer peer;
  cvy_shared ring; /* a thread says in it that it has ended */
  int64_t bytes;
} abandoned;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static abandoned *all;
static int64_t total;

static bool has_ended(abandoned *one) {
  char how[128];
  return cvy_peer_gone(&one->peer, one->ring.memory, 0, how, sizeof how);
}

/* Drops those that have ended meanwhile. Under the lock. */
static void sweep(void) {
  for (abandoned **at = &all; *at;) {
    abandoned *one = *at;
    if (!has_ended(one)) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    cvy_process_drop(&one->peer.process);
    cvy_shared_drop(&one->ring);
    free(one);
  }
}

void cvy_abandon(const cvy_peer *peer, const cvy_shared *ring, int64_t bytes) {
  abandoned *new = malloc(sizeof *new);
  pthread_mutex_lock(&lock);
  sweep();
  total++;
  if (new) {
    *new = (abandoned){all, *peer, *ring, bytes};
    all = new;
  }
  pthread_mutex_unlock(&lock);
}

void cvy_abandoned_count(int64_t *workers, int64_t *bytes) {
  pthread_mutex_lock(&lock);
  sweep();
  *workers = total;
  *bytes = 0;
  for (const abandoned *one = all; one; one = one->next) *bytes += one->bytes;
  pthread_mutex_unlock(&lock);
}
