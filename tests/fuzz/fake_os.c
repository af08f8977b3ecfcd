/* src/os without an operating system. */
#include "fake_os.h"

#include <stdlib.h>
#include <string.h>

#include "worker/wire.h"

bool (*fake_receive)(void *bytes, size_t count);
void (*fake_sleep)(void);

enum { MAPPINGS = 64, PAGE = 4096 };
static void *mapped[MAPPINGS];

void fake_os_reset(void) {
  for (int i = 0; i < MAPPINGS; i++) free(mapped[i]);
  memset(mapped, 0, sizeof mapped);
}

/* --------------------------------------------------------------------------------- copies */

void cvy_copy_parts(const cvy_copy_part *parts, int32_t count, cvy_copied_fn *copied, void *user) {
  for (int32_t i = 0; i < count; i++) {
    memcpy(parts[i].to, parts[i].from, (size_t)parts[i].bytes);
    if (copied) copied(user, i);
  }
}

void cvy_copy(void *to, const void *from, int64_t bytes) {
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
}

/* ----------------------------------------------------------------------------- doorbell */

uint32_t cvy_doorbell_seen(cvy_doorbell *bell) {
  return atomic_load(&bell->count);
}

void cvy_doorbell_ring(cvy_doorbell *bell) {
  atomic_fetch_add(&bell->count, 1);
}

bool cvy_doorbell_linger(const cvy_doorbell *bell, uint32_t seen, double seconds) {
  (void)seconds;
  return atomic_load(&bell->count) != seen;
}

void cvy_doorbell_wait(cvy_doorbell *bell, uint32_t seen, double seconds) {
  (void)bell;
  (void)seen;
  (void)seconds;
  fake_sleep();
}

/* ------------------------------------------------------------------------------- shared */

/* At most as much as the wire needs: poisoning the ends of 64 MiB takes longer than all the
 * rest. */
static convoy_status take(size_t bytes, cvy_shared *out) {
  int place = 0;
  *out = (cvy_shared){NULL, 0, -1};
  while (place < MAPPINGS && mapped[place]) place++;
  if (place == MAPPINGS) return cvy_fail(CONVOY_ERR_MEMORY, "too many mappings");
  const size_t real = bytes < sizeof(cvy_wire) ? bytes : sizeof(cvy_wire);
  const size_t pages = (real + PAGE - 1) / PAGE * PAGE;
  mapped[place] = aligned_alloc(PAGE, pages);
  if (!mapped[place]) return cvy_fail(CONVOY_ERR_MEMORY, "no memory");
  memset(mapped[place], 0, pages);
  *out = (cvy_shared){mapped[place], bytes, -1};
  return CONVOY_OK;
}

convoy_status cvy_shared_make(size_t bytes, bool inherit, cvy_shared *out) {
  (void)inherit;
  return take(bytes, out);
}

convoy_status cvy_shared_map(int fd, size_t bytes, cvy_shared *out) {
  (void)fd;
  *out = (cvy_shared){NULL, 0, -1};
  if (bytes == 0 || bytes > FAKE_MOST_BYTES)
    return cvy_fail(CONVOY_ERR_DEVICE, "shared memory is not %zu bytes large", bytes);
  return take(bytes, out);
}

convoy_status cvy_shared_renew(void *at, size_t bytes) {
  (void)at;
  (void)bytes;
  return CONVOY_OK;
}

void cvy_shared_close_fd(cvy_shared *shared) {
  shared->fd = -1;
}

void cvy_shared_drop(cvy_shared *shared) {
  for (int i = 0; shared->memory && i < MAPPINGS; i++) {
    if (mapped[i] != shared->memory) continue;
    free(mapped[i]);
    mapped[i] = NULL;
  }
  *shared = (cvy_shared){NULL, 0, -1};
}

/* --------------------------------------------------------------------------------- pass */

convoy_status cvy_pass_pair(int sockets[2]) {
  sockets[0] = sockets[1] = -1;
  return CONVOY_OK;
}

convoy_status cvy_pass_send(int socket, const void *bytes, size_t count, int fd) {
  (void)socket;
  (void)bytes;
  (void)count;
  (void)fd;
  return CONVOY_OK;
}

bool cvy_pass_waiting(int socket, double seconds) {
  (void)socket;
  (void)seconds;
  return true;
}

convoy_status cvy_pass_receive(int socket, void *bytes, size_t count, int *fd, double seconds) {
  (void)socket;
  (void)seconds;
  if (fd) *fd = FAKE_FD;
  return fake_receive(bytes, count) ? CONVOY_OK : cvy_fail(CONVOY_ERR_IO, "no message");
}

/* ------------------------------------------------------------------------------ process */

int cvy_process_id(void) {
  return 1;
}
