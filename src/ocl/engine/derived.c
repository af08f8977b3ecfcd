/* Derived forms of arrays: kept until the array changes or goes, within a share of the device's memory,
 * the one not used for longest goes first. The queue is in order, so what takes over the memory of a
 * form comes after its last use. */
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/engine.h"

/* Forms may hold one part in so many of the device's memory. */
#define SHARE 8

typedef struct derived {
  uint64_t id; /* of the array */
  derived_form form;
  arena_piece *piece;
  struct derived *next;
} derived;

static void drop(cvy_device *device, derived **link) {
  derived *gone = *link;
  *link = gone->next;
  arena_give(device->memory, gone->piece);
  free(gone);
}

/* Keeps the most recently used ones, `bytes` of them at most. */
static void trim(cvy_device *device, int64_t bytes) {
  for (derived **link = &device->derived; *link;) {
    bytes -= (*link)->piece->bytes;
    if (bytes < 0)
      drop(device, link);
    else
      link = &(*link)->next;
  }
}

void derived_forget_all(cvy_device *device) {
  trim(device, 0);
}

void derived_forget(cvy_device *device, array_entry *entry) {
  if (!entry->derived) return;
  entry->derived = false;
  for (derived **link = &device->derived; *link;) {
    if ((*link)->id == entry->id)
      drop(device, link);
    else
      link = &(*link)->next;
  }
}

convoy_status memory_take(cvy_device *device, int64_t bytes, arena_piece **out) {
  const convoy_status status = arena_take(device->memory, bytes, out);
  if (status != CONVOY_ERR_MEMORY || !device->derived) return status;
  derived_forget_all(device);
  return arena_take(device->memory, bytes, out);
}

static bool same(const derived *a, uint64_t id, const derived_form *form) {
  return a->id == id && a->form.of == form->of &&
         memcmp(a->form.number, form->number, sizeof form->number) == 0;
}

static void put_first(cvy_device *device, derived *form) {
  form->next = device->derived;
  device->derived = form;
}

static convoy_status make(cvy_device *device, array_entry *entry, const derived_form *form,
                          int64_t bytes) {
  trim(device, device->facts.info.memory_bytes / SHARE - bytes);
  derived *new = calloc(1, sizeof *new);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a derived form");
  const convoy_status status = memory_take(device, bytes, &new->piece);
  if (status) {
    free(new);
    return status;
  }
  new->id = entry->id;
  new->form = *form;
  put_first(device, new);
  entry->derived = true;
  return CONVOY_OK;
}

convoy_status derived_find(cvy_device *device, uint64_t id, const derived_form *form, int64_t bytes,
                           span *out, bool *fresh) {
  if (device->rehearsing) {
    *out = (span){NULL, 0};
    *fresh = true;
    return CONVOY_OK;
  }
  derived **link = &device->derived;
  while (*link && !same(*link, id, form)) link = &(*link)->next;
  derived *found = *link;
  *fresh = !found;
  if (found) {
    *link = found->next;
    put_first(device, found);
  } else {
    array_entry *entry;
    convoy_status status = find_array(device, id, 0, &entry);
    if (!status) status = make(device, entry, form, bytes);
    if (status) return status;
  }
  *out = span_of(device->derived->piece);
  capture_form(device, id, form, bytes, device->derived->piece, *fresh);
  return CONVOY_OK;
}
