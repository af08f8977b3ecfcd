/* Host memory for the values of stores, used again instead of given back: the first touch of fresh
 * pages can take longer than the operation that writes them. */
#ifndef CVY_RECYCLE_H
#define CVY_RECYCLE_H

#include "base/base.h"

typedef struct cvy_spare cvy_spare;

typedef struct cvy_recycler {
  cvy_spare *spares;  /* the last one given back first */
  int64_t live, kept; /* bytes in use; bytes of spares, never more than `most` */
  int64_t most;       /* high-water mark of `live`, 0 once ended */
  int64_t takes;      /* a clock: spares that nobody takes for long are freed */
} cvy_recycler;

/* Contents undefined; aligned to 64 bytes, large ones to pages. NULL: no memory. 0 is legal. */
void *cvy_recycle_take(cvy_recycler *recycler, int64_t bytes);
/* `bytes` as taken. NULL is allowed. */
void cvy_recycle_give(cvy_recycler *recycler, void *memory, int64_t bytes);
/* Frees the spares; what is given back from now on is freed at once. */
void cvy_recycle_end(cvy_recycler *recycler);

#endif
