/* Free chunks are linked through their own first bytes and sought from the last one given back,
 * whose pages the caches are likely to have. */
#include "core/exec/free_list.h"

#include <stdlib.h>

struct cvy_free_chunk {
  cvy_free_chunk *next;
  int64_t size;
  int64_t since; /* the list's `takes` when it was given back */
};

/* Smaller chunks are left to malloc, which reuses them well itself. */
enum { LARGE = 64 << 10, LARGER = 512 << 10, PAGE = 4096, LINE = 64 };
/* A chunk that was not taken in so many takes is freed: more than a training step has. */
enum { MOST_TAKES = 10000 };

/* Large sizes are rounded up, by an eighth at most: arrays of nearly the same size share chunks. */
static int64_t size_for(int64_t bytes) {
  if (bytes < LARGE) return bytes ? bytes : 1;
  int64_t step = bytes < LARGER ? PAGE : LARGER / 8;
  return (bytes + step - 1) / step * step;
}

static cvy_free_chunk *unlink_chunk(cvy_free_list *list, cvy_free_chunk **link) {
  cvy_free_chunk *chunk = *link;
  *link = chunk->next;
  list->kept -= chunk->size;
  return chunk;
}

static cvy_free_chunk **oldest(cvy_free_list *list) {
  cvy_free_chunk **link = &list->first;
  while ((*link)->next) link = &(*link)->next;
  return link;
}

/* Chunks of one size are of no use to those of another: a step whose arrays have several sizes
 * needs more of them than bytes that it has in use at once. */
static int64_t most_kept(const cvy_free_list *list) {
  return 2 * list->most - list->live;
}

/* Frees the oldest chunks until `limit` bytes of them are left at most, and none is too old. */
static void trim(cvy_free_list *list, int64_t limit) {
  while (list->first) {
    cvy_free_chunk **last = oldest(list);
    if (list->kept <= limit && list->takes - (*last)->since <= MOST_TAKES) return;
    free(unlink_chunk(list, last));
  }
}

static void *reuse(cvy_free_list *list, int64_t size) {
  cvy_free_chunk **link = &list->first;
  while (*link && (*link)->size != size) link = &(*link)->next;
  return *link ? unlink_chunk(list, link) : NULL;
}

static void *allocate(int64_t size) {
  void *memory;
  return posix_memalign(&memory, size < LARGE ? LINE : PAGE, (size_t)size) ? NULL : memory;
}

void *cvy_free_list_take(cvy_free_list *list, int64_t bytes) {
  if (bytes > INT64_MAX - LARGER) return NULL;
  int64_t size = size_for(bytes);
  void *memory = reuse(list, size);
  if (!memory) memory = allocate(size);
  if (!memory && list->first) {
    trim(list, 0);
    memory = allocate(size);
  }
  if (!memory) return NULL;
  list->live += size;
  list->takes += size >= LARGE;
  if (list->live > list->most) list->most = list->live;
  if (list->kept > most_kept(list)) trim(list, most_kept(list));
  return memory;
}

void cvy_free_list_give(cvy_free_list *list, void *memory, int64_t bytes) {
  if (!memory) return;
  int64_t size = size_for(bytes);
  list->live -= size;
  if (size < LARGE) {
    free(memory);
    return;
  }
  cvy_free_chunk *chunk = memory;
  *chunk = (cvy_free_chunk){list->first, size, list->takes};
  list->first = chunk;
  list->kept += size;
  trim(list, most_kept(list));
}

void cvy_free_list_end(cvy_free_list *list) {
  list->most = 0;
  trim(list, 0);
}
