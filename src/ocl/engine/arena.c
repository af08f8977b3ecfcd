/* Best fit over all blocks. The pieces of a block are a list by address, and neighbours merge when
 * they are freed. A training step asks for the same sizes again and again, and best fit keeps
 * finding their places. What stays and is smaller goes elsewhere: small pieces into blocks of their
 * own, and into a block that was made for one large piece only what about fills it. A parameter, or
 * what a batch norm counts, would keep it from going back when the large one is gone. */
#include "ocl/engine/arena.h"

#include <stdlib.h>

typedef struct arena_block {
  void *memory;
  int64_t bytes;
  int64_t used; /* bytes in used pieces */
  bool small;   /* it has small pieces only */
  arena_piece *first;
  struct arena_block *next;
} arena_block;

struct arena {
  arena_source source;
  arena_limits limits;
  arena_counts counts;
  arena_block *blocks;
};

cvy_arena *arena_new(const arena_source *source, const arena_limits *limits) {
  cvy_arena *new = calloc(1, sizeof *new);
  if (!new) return NULL;
  new->source = *source;
  new->limits = *limits;
  return new;
}

static void drop_block(cvy_arena *arena, arena_block **link) {
  arena_block *block = *link;
  *link = block->next;
  arena->counts.held -= block->bytes;
  arena->source.drop(arena->source.user, block->memory);
  for (arena_piece *piece = block->first; piece;) {
    arena_piece *after = piece->after;
    free(piece);
    piece = after;
  }
  free(block);
}

void arena_free(cvy_arena *arena) {
  if (!arena) return;
  while (arena->blocks) drop_block(arena, &arena->blocks);
  free(arena);
}

/* Drops wholly free blocks until those left hold at most `keep` bytes. */
static void trim(cvy_arena *arena, int64_t keep) {
  int64_t idle = 0;
  for (arena_block **link = &arena->blocks; *link;) {
    arena_block *block = *link;
    if (block->used == 0 && idle + block->bytes > keep) {
      drop_block(arena, link);
      continue;
    }
    if (block->used == 0) idle += block->bytes;
    link = &block->next;
  }
}

static arena_piece *new_piece(arena_block *block, int64_t at, int64_t bytes) {
  arena_piece *piece = calloc(1, sizeof *piece);
  if (!piece) return NULL;
  piece->memory = block->memory;
  piece->block = block;
  piece->at = at;
  piece->bytes = bytes;
  return piece;
}

static bool is_small(const cvy_arena *arena, int64_t bytes) {
  return bytes < arena->limits.block_bytes / 64;
}

static bool is_beyond(const cvy_arena *arena, int64_t bytes) {
  int64_t all = arena->limits.all_bytes;
  return all > 0 && (arena->counts.held >= all || bytes > all - arena->counts.held);
}

static arena_block *new_block(cvy_arena *arena, int64_t bytes, bool small) {
  if (is_beyond(arena, bytes)) return NULL;
  arena_block *block = calloc(1, sizeof *block);
  if (!block) return NULL;
  block->memory = arena->source.make(arena->source.user, bytes);
  block->first = block->memory ? new_piece(block, 0, bytes) : NULL;
  if (!block->first) {
    if (block->memory) arena->source.drop(arena->source.user, block->memory);
    free(block);
    return NULL;
  }
  block->bytes = bytes;
  block->small = small;
  block->next = arena->blocks;
  arena->blocks = block;
  arena->counts.held += bytes;
  return block;
}

/* Whether a piece that stays belongs into the block. */
static bool suits(const cvy_arena *arena, const arena_block *block, int64_t bytes) {
  if (block->small != is_small(arena, bytes)) return false;
  return block->bytes <= arena->limits.block_bytes || bytes >= block->bytes / 8 * 7;
}

static arena_piece *find_free(const cvy_arena *arena, int64_t bytes, bool briefly) {
  arena_piece *best = NULL;
  for (arena_block *block = arena->blocks; block; block = block->next) {
    if (block->bytes - block->used < bytes) continue;
    if (!briefly && !suits(arena, block, bytes)) continue;
    for (arena_piece *piece = block->first; piece; piece = piece->after) {
      if (!piece->used && piece->bytes >= bytes && (!best || piece->bytes < best->bytes))
        best = piece;
    }
  }
  return best;
}

/* A free piece of at least `bytes` from a new block: a full-sized one, if need be after returning
 * what lies idle, or else one that just fits. */
static arena_piece *grow(cvy_arena *arena, int64_t bytes) {
  bool small = is_small(arena, bytes);
  int64_t usual = arena->limits.block_bytes / (small ? 8 : 1);
  int64_t wanted = bytes > usual ? bytes : usual;
  if (wanted > arena->limits.most_bytes) wanted = arena->limits.most_bytes;
  if (bytes > wanted) return NULL;
  arena_block *block = new_block(arena, wanted, small);
  if (!block) {
    trim(arena, 0);
    block = new_block(arena, wanted, small);
  }
  if (!block && wanted > bytes) block = new_block(arena, bytes, small);
  return block ? block->first : NULL;
}

/* Cuts off the rest of a piece. Without host memory for that it stays larger than asked for. */
static void split(arena_piece *piece, int64_t bytes) {
  if (piece->bytes == bytes) return;
  arena_piece *rest = new_piece(piece->block, piece->at + bytes, piece->bytes - bytes);
  if (!rest) return;
  rest->before = piece;
  rest->after = piece->after;
  if (rest->after) rest->after->before = rest;
  piece->after = rest;
  piece->bytes = bytes;
}

static convoy_status refuse(const cvy_arena *arena, int64_t bytes) {
  const arena_limits *limits = &arena->limits;
  char words[64] = "";
  cvy_text text = cvy_text_in(words, sizeof words);
  if (limits->all_bytes > 0)
    cvy_text_add(&text, ", all may have %lld", (long long)limits->all_bytes);
  return cvy_fail(CONVOY_ERR_MEMORY,
                  "no device memory for %lld bytes: %lld are in use, %lld held, one allocation may "
                  "have %lld%s",
                  (long long)bytes, (long long)arena->counts.bytes, (long long)arena->counts.held,
                  (long long)limits->most_bytes, words);
}

static convoy_status take(cvy_arena *arena, int64_t bytes, bool briefly, arena_piece **out) {
  int64_t mask = arena->limits.alignment - 1;
  if (bytes > INT64_MAX - mask)
    return cvy_fail(CONVOY_ERR_MEMORY, "no device memory for %lld bytes", (long long)bytes);
  int64_t rounded = (bytes + mask) & ~mask;
  arena_piece *piece = find_free(arena, rounded, briefly);
  if (!piece) piece = grow(arena, rounded);
  if (!piece) piece = find_free(arena, rounded, true);
  if (!piece) return refuse(arena, bytes);
  split(piece, rounded);
  piece->used = true;
  piece->block->used += piece->bytes;
  arena->counts.bytes += piece->bytes;
  if (arena->counts.bytes > arena->counts.peak) arena->counts.peak = arena->counts.bytes;
  *out = piece;
  return CONVOY_OK;
}

convoy_status arena_take(cvy_arena *arena, int64_t bytes, arena_piece **out) {
  return take(arena, bytes, false, out);
}

convoy_status arena_take_briefly(cvy_arena *arena, int64_t bytes, arena_piece **out) {
  return take(arena, bytes, true, out);
}

/* Joins `piece` with the free piece after it. */
static void merge_after(arena_piece *piece) {
  arena_piece *after = piece->after;
  if (!after || after->used) return;
  piece->bytes += after->bytes;
  piece->after = after->after;
  if (piece->after) piece->after->before = piece;
  free(after);
}

void arena_give(cvy_arena *arena, arena_piece *piece) {
  if (!piece) return;
  piece->used = false;
  piece->block->used -= piece->bytes;
  arena->counts.bytes -= piece->bytes;
  merge_after(piece);
  if (piece->before && !piece->before->used) merge_after(piece->before);
  trim(arena, arena->limits.keep_bytes);
}

arena_counts arena_count(const cvy_arena *arena) {
  return arena->counts;
}
