/* Spares are linked through their own first bytes and sought from the last one given back, whose
 * pages the caches are likely to have. */
#include "core/exec/recycle.h"

#include <stdlib.h>

struct cvy_spare {
  cvy_spare *next;
  int64_t size;
  int64_t since; /* the recycler's `takes` when it was given back */
};

/* Smaller blocks are left to malloc, which reuses them well itself. */
enum { LARGE = 64 << 10, LARGER = 512 << 10, PAGE = 4096, LINE = 64 };
/* A spare that was not taken in so many takes is freed: more than a training step has. */
enum { PATIENCE = 10000 };

/* Large sizes are rounded up, by an eighth at most: arrays of nearly the same size share blocks. */
static int64_t size_for(int64_t bytes) {
  if (bytes < LARGE) return bytes ? bytes : 1;
  int64_t step = bytes < LARGER ? PAGE : LARGER / 8;
  return (bytes + step - 1) / step * step;
}

static cvy_spare *unlink_spare(cvy_recycler *recycler, cvy_spare **link) {
  cvy_spare *spare = *link;
  *link = spare->next;
  recycler->kept -= spare->size;
  return spare;
}

static cvy_spare **oldest(cvy_recycler *recycler) {
  cvy_spare **link = &recycler->spares;
  while ((*link)->next) link = &(*link)->next;
  return link;
}

/* Frees the oldest spares until `limit` bytes of them are left at most, and none is too old. */
static void trim(cvy_recycler *recycler, int64_t limit) {
  while (recycler->spares) {
    cvy_spare **last = oldest(recycler);
    if (recycler->kept <= limit && recycler->takes - (*last)->since <= PATIENCE) return;
    free(unlink_spare(recycler, last));
  }
}

static void *reuse(cvy_recycler *recycler, int64_t size) {
  cvy_spare **link = &recycler->spares;
  while (*link && (*link)->size != size) link = &(*link)->next;
  return *link ? unlink_spare(recycler, link) : NULL;
}

static void *allocate(int64_t size) {
  void *memory;
  return posix_memalign(&memory, size < LARGE ? LINE : PAGE, (size_t)size) ? NULL : memory;
}

void *cvy_recycle_take(cvy_recycler *recycler, int64_t bytes) {
  if (bytes > INT64_MAX - LARGER) return NULL;
  int64_t size = size_for(bytes);
  void *memory = reuse(recycler, size);
  if (!memory) memory = allocate(size);
  if (!memory && recycler->spares) {
    trim(recycler, 0);
    memory = allocate(size);
  }
  if (!memory) return NULL;
  recycler->live += size;
  recycler->takes += size >= LARGE;
  if (recycler->live > recycler->most) recycler->most = recycler->live;
  return memory;
}

void cvy_recycle_give(cvy_recycler *recycler, void *memory, int64_t bytes) {
  if (!memory) return;
  int64_t size = size_for(bytes);
  recycler->live -= size;
  if (size < LARGE) {
    free(memory);
    return;
  }
  cvy_spare *spare = memory;
  *spare = (cvy_spare){recycler->spares, size, recycler->takes};
  recycler->spares = spare;
  recycler->kept += size;
  trim(recycler, recycler->most);
}

void cvy_recycle_end(cvy_recycler *recycler) {
  recycler->most = 0;
  trim(recycler, 0);
}
