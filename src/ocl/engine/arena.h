/* Device memory in big blocks, which are cut into pieces. The arena knows no OpenCL: blocks come
 * from a source. */
#ifndef CVY_OCL_ARENA_H
#define CVY_OCL_ARENA_H

#include "base/base.h"

/* Where blocks come from. `make` returns NULL when there is no memory. */
typedef struct arena_source {
  void *user;
  void *(*make)(void *user, int64_t bytes);
  void (*drop)(void *user, void *memory);
} arena_source;

typedef struct arena_limits {
  int64_t alignment;   /* of every piece, a power of two */
  int64_t block_bytes; /* least size of a block */
  int64_t all_bytes;   /* that all blocks may have together; 0: no limit */
  int64_t most_bytes;  /* largest block the source can make */
  int64_t keep_bytes;  /* wholly free blocks kept for later */
} arena_limits;

typedef struct arena cvy_arena;

typedef struct arena_piece {
  void *memory;  /* the block's, as the source made it */
  int64_t at;    /* byte offset in it */
  int64_t bytes; /* rounded up to the alignment */
  bool used;
  struct arena_piece *before, *after; /* neighbours in the block, by address */
  struct arena_block *block;
} arena_piece;

typedef struct arena_counts {
  int64_t bytes; /* in pieces now */
  int64_t peak;  /* the most that ever were in pieces */
  int64_t held;  /* in blocks now */
} arena_counts;

/* NULL: host memory is exhausted. */
cvy_arena *arena_new(const arena_source *source, const arena_limits *limits);
void arena_free(cvy_arena *arena);
/* A piece of `bytes` > 0. Fails with ERR_MEMORY and the numbers if neither free pieces nor the
 * source have so many. */
convoy_status arena_take(cvy_arena *arena, int64_t bytes, arena_piece **out);
/* The same for a piece that goes back before another is taken: wherever there is room. */
convoy_status arena_take_briefly(cvy_arena *arena, int64_t bytes, arena_piece **out);
/* Gives a piece back; NULL is allowed. */
void arena_give(cvy_arena *arena, arena_piece *piece);
arena_counts arena_count(const cvy_arena *arena);

#endif
