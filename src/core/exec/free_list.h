/* Host memory for the values of stores, used again instead of given back: the first touch of fresh
 * pages can take longer than the operation that writes them. */
#ifndef CVY_FREE_LIST_H
#define CVY_FREE_LIST_H

#include "base/base.h"

typedef struct cvy_free_chunk cvy_free_chunk;

typedef struct cvy_free_list {
  cvy_free_chunk *first; /* the last one given back first */
  int64_t live, kept;    /* bytes in use, of free chunks; together at most twice `most` */
  int64_t most;          /* high-water mark of `live`, 0 once ended */
  int64_t takes;         /* a clock: chunks that nobody takes for long are freed */
} cvy_free_list;

/* Contents undefined; aligned to 64 bytes, large ones to pages. NULL: no memory. 0 is legal. */
void *cvy_free_list_take(cvy_free_list *list, int64_t bytes);
/* `bytes` as taken. NULL is allowed. */
void cvy_free_list_give(cvy_free_list *list, void *memory, int64_t bytes);
/* Frees the chunks; what is given back from now on is freed at once. */
void cvy_free_list_end(cvy_free_list *list);

#endif
