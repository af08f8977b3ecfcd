/* Host memory shared with a worker. Freed blocks are kept for the next call, because the first touch
 * of shared pages is slow; a limit bounds what is kept. One list for the process: memory may be
 * freed from any thread and after its context is gone. The lock is never held across a question to
 * the worker. */
#include "worker/lane_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)
#define LEAST_BYTES ((size_t)1 << 20) /* below, a copy costs less than a mapping */
#define KEPT_BYTES ((size_t)256 << 20)

typedef struct host_block {
  struct host_block *next;
  const cvy_channel *channel; /* NULL: closed */
  cvy_block block;
  void *memory;
  size_t bytes;
  bool is_private; /* ordinary memory */
  bool used;       /* handed out, not kept */
} host_block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static host_block *blocks; /* newest first */

/* Its memory goes too; it is in no list any more. */
static void destroy(host_block *block) {
  if (block->is_private)
    free(block->memory);
  else
    cvy_shared_drop(&block->block.shared);
  free(block);
}

/* ------------------------------------------------------- all of these under the lock */

static void take_out(host_block *block) {
  host_block **at = &blocks;
  while (*at != block) at = &(*at)->next;
  *at = block->next;
}

static bool is_kept(const host_block *block, const cvy_channel *channel) {
  return block->channel == channel && !block->is_private && !block->used;
}

/* The smallest kept block that is large enough and not wastefully larger. */
static host_block *best_kept(const cvy_channel *channel, size_t bytes) {
  host_block *best = NULL;
  for (host_block *at = blocks; at; at = at->next)
    if (is_kept(at, channel) && at->bytes >= bytes && at->bytes / 2 <= bytes &&
        (!best || at->bytes < best->bytes))
      best = at;
  return best;
}

static host_block *oldest_in_excess(const cvy_channel *channel) {
  size_t kept = 0;
  host_block *oldest = NULL;
  for (host_block *at = blocks; at; at = at->next) {
    if (!is_kept(at, channel)) continue;
    kept += at->bytes;
    oldest = at;
  }
  return kept > KEPT_BYTES ? oldest : NULL;
}

/* ------------------------------------------------------------------------------ alloc */

static host_block *reuse(const cvy_channel *channel, size_t bytes) {
  pthread_mutex_lock(&lock);
  host_block *block = best_kept(channel, bytes);
  if (block) block->used = true;
  pthread_mutex_unlock(&lock);
  if (block) memset(block->memory, 0, bytes);
  return block;
}

static host_block *take_excess(const cvy_channel *channel) {
  pthread_mutex_lock(&lock);
  host_block *block = oldest_in_excess(channel);
  if (block) take_out(block);
  pthread_mutex_unlock(&lock);
  return block;
}

static void trim(cvy_channel *channel) {
  host_block *block;
  while ((block = take_excess(channel))) {
    cvy_channel_unmap(channel, &block->block);
    destroy(block);
  }
}

/* Shared if it is worth it and the worker takes it, else private: the caller can use both. */
static convoy_status back(host_block *block, cvy_channel *channel) {
  if (block->bytes >= LEAST_BYTES &&
      cvy_channel_map(channel, block->bytes, true, &block->block) == CONVOY_OK) {
    block->memory = block->block.shared.memory;
    return CONVOY_OK;
  }
  block->is_private = true;
  block->memory = aligned_alloc(PAGE, block->bytes);
  if (!block->memory) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for %zu bytes", block->bytes);
  memset(block->memory, 0, block->bytes);
  return CONVOY_OK;
}

static host_block *make(cvy_channel *channel, size_t bytes) {
  host_block *block = calloc(1, sizeof *block);
  if (!block) {
    cvy_fail(CONVOY_ERR_MEMORY, "no memory for the record of a block");
    return NULL;
  }
  *block = (host_block){.channel = channel, .bytes = bytes, .used = true};
  if (back(block, channel)) {
    free(block);
    return NULL;
  }
  pthread_mutex_lock(&lock);
  block->next = blocks;
  blocks = block;
  pthread_mutex_unlock(&lock);
  return block;
}

void *cvy_lane_alloc(cvy_channel *channel, size_t bytes) {
  if (bytes > SIZE_MAX - PAGE) {
    cvy_fail(CONVOY_ERR_MEMORY, "no memory for %zu bytes", bytes);
    return NULL;
  }
  const size_t whole = (bytes + PAGE - 1) & ~(PAGE - 1);
  host_block *block = reuse(channel, whole);
  if (!block) {
    trim(channel);
    block = make(channel, whole);
  }
  return block ? block->memory : NULL;
}

/* --------------------------------------------------------------------- free, find, sum */

void cvy_lane_free(void *memory) {
  pthread_mutex_lock(&lock);
  host_block *block = blocks;
  while (block && (block->memory != memory || !block->used)) block = block->next;
  const bool last = block && (block->is_private || !block->channel);
  if (last) take_out(block);
  if (block) block->used = false;
  pthread_mutex_unlock(&lock);
  if (last) destroy(block);
}

bool cvy_lane_find(const cvy_channel *channel, const void *at, int64_t bytes, uint32_t *number,
                   int64_t *offset) {
  bool found = false;
  pthread_mutex_lock(&lock);
  for (host_block *block = blocks; block && !found; block = block->next) {
    uintptr_t from = (uintptr_t)block->memory, start = (uintptr_t)at;
    if (block->channel != channel || block->is_private || start < from) continue;
    found = start - from <= block->bytes && (uint64_t)bytes <= block->bytes - (start - from);
    if (!found) continue;
    *number = block->block.number;
    *offset = (int64_t)(start - from);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

int64_t cvy_lane_bytes(const cvy_channel *channel) {
  int64_t bytes = 0;
  pthread_mutex_lock(&lock);
  for (host_block *at = blocks; at; at = at->next)
    if (at->channel == channel) bytes += (int64_t)at->bytes;
  pthread_mutex_unlock(&lock);
  return bytes;
}

void cvy_lane_orphan(const cvy_channel *channel) {
  pthread_mutex_lock(&lock);
  for (host_block *at = blocks, *next; at; at = next) {
    next = at->next;
    if (at->channel != channel) continue;
    at->channel = NULL;
    if (at->used) continue;
    take_out(at);
    destroy(at);
  }
  pthread_mutex_unlock(&lock);
}
