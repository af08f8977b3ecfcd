/* Device arrays by number. */
#ifndef CVY_OCL_ENGINE_ARRAYS_H
#define CVY_OCL_ENGINE_ARRAYS_H

#include "backend.h"
#include "ocl/engine/arena.h"

/* A piece of the arena that several arrays lie in. */
typedef struct array_owner {
  arena_piece *piece;
  int32_t arrays;
} array_owner;

typedef struct array_entry {
  uint64_t id;
  int64_t bytes;
  arena_piece *piece;
  arena_piece view;   /* where `piece` points if it is none of the arena's: part of one, or
                         foreign memory */
  array_owner *owner; /* of what it shares with others, or NULL */
  bool prepacked;     /* it may have prepacked operands */
  struct array_entry *next;
} array_entry;

#define ARRAY_BUCKETS 1024
typedef struct array_map {
  array_entry *bucket[ARRAY_BUCKETS];
  int32_t own; /* arrays in the device's own memory */
} array_map;

static inline bool array_is_foreign(const array_entry *entry) {
  return entry->piece == &entry->view && !entry->owner;
}

array_entry *arrays_find(const array_map *map, uint64_t id);
array_entry *arrays_add(array_map *map, uint64_t id); /* NULL: host memory exhausted */
void arrays_remove(array_map *map, uint64_t id);
/* Makes `part` one of `of` from byte `at` on. ERR_MEMORY. */
convoy_status array_share(array_entry *of, int64_t at, array_entry *part);
/* The piece that goes with the array, NULL: none does. */
arena_piece *array_let_go(array_entry *entry);
void arrays_clear(array_map *map);
/* The array of a number with at least `bytes`; fails with a sentence. */
convoy_status find_array(cvy_device *device, uint64_t id, int64_t bytes, array_entry **out);

#endif
