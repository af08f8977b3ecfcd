/* A hash table from array numbers to pieces of the arena. Numbers count up, so their low bits fill
 * its buckets evenly. */
#include "ocl/engine/arrays.h"

#include <stdlib.h>

#include "ocl/engine/device.h"

static array_entry **link_of(array_map *map, uint64_t id) {
  array_entry **link = &map->bucket[id % ARRAY_BUCKETS];
  while (*link && (*link)->id != id) link = &(*link)->next;
  return link;
}

array_entry *arrays_find(const array_map *map, uint64_t id) {
  array_entry *entry = map->bucket[id % ARRAY_BUCKETS];
  while (entry && entry->id != id) entry = entry->next;
  return entry;
}

array_entry *arrays_add(array_map *map, uint64_t id) {
  array_entry *entry = calloc(1, sizeof *entry);
  if (!entry) return NULL;
  entry->id = id;
  entry->next = map->bucket[id % ARRAY_BUCKETS];
  map->bucket[id % ARRAY_BUCKETS] = entry;
  return entry;
}

void arrays_remove(array_map *map, uint64_t id) {
  array_entry **link = link_of(map, id), *entry = *link;
  if (!entry) return;
  *link = entry->next;
  free(entry);
}

void arrays_clear(array_map *map) {
  for (size_t i = 0; i < ARRAY_BUCKETS; i++)
    while (map->bucket[i]) {
      array_let_go(map->bucket[i]); /* the arena goes as a whole */
      arrays_remove(map, map->bucket[i]->id);
    }
}

/* ------------------------------------------------------------------------------------- sharing */

convoy_status array_share(array_entry *of, int64_t at, array_entry *part) {
  if (!of->owner && !array_is_foreign(of)) {
    of->owner = calloc(1, sizeof *of->owner);
    if (!of->owner) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a part of an array");
    *of->owner = (array_owner){of->piece, 1};
  }
  part->view = (arena_piece){
      .memory = of->piece->memory, .at = of->piece->at + at, .bytes = part->bytes, .used = true};
  part->piece = &part->view;
  part->owner = of->owner;
  if (part->owner) part->owner->arrays++;
  return CONVOY_OK;
}

arena_piece *array_let_go(array_entry *entry) {
  array_owner *owner = entry->owner;
  if (!owner) return array_is_foreign(entry) ? NULL : entry->piece;
  entry->owner = NULL;
  if (--owner->arrays > 0) return NULL;
  arena_piece *piece = owner->piece;
  free(owner);
  return piece;
}

/* -------------------------------------------------------------------------------------- finding */

convoy_status find_array(cvy_device *device, uint64_t id, int64_t bytes, array_entry **out) {
  *out = arrays_find(&device->memory.arrays, id);
  if (!*out)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "there is no device array %llu", (unsigned long long)id);
  if (bytes < 0 || bytes > (*out)->bytes) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "device array %llu has %lld bytes, not %lld",
                    (unsigned long long)id, (long long)(*out)->bytes, (long long)bytes);
  }
  return CONVOY_OK;
}
