/* A framework's allocator: what was given back serves again in the same stream, and is freed when
 * all is done. */
#ifndef STANDIN_ALLOCATOR_H
#define STANDIN_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct allocator_state {
  int calls;
  void *stream;  /* of the newest */
  int64_t bytes; /* given, and not back yet */
  bool empty;    /* it has nothing to give */
  bool crooked;  /* what it gives is not aligned */
} allocator_state;
extern allocator_state pool;

/* As convoy_set_allocator takes them, with &pool. */
void *pool_allocate(void *user, size_t bytes, void *stream);
void pool_release(void *user, void *memory, size_t bytes, void *stream);
/* All was given back, and nothing is under way. */
void pool_end(void);

#endif
