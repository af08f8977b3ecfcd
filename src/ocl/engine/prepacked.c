/* Prepacked operands are kept until their array changes or goes, within a share of the device's
 * memory; the one that was not used for longest goes first. The queue is in order, so what takes
 * over the memory of an operand comes after its last use. */
#include "ocl/engine/prepacked.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/capture.h"
#include "ocl/engine/device.h"

/* Prepacked operands may hold one part in so many of the device's memory. */
#define SHARE 8

typedef struct prepacked_operand {
  uint64_t id; /* of the array */
  prepacked_form form;
  arena_piece *piece;
  struct prepacked_operand *next;
} prepacked_operand;

static void drop(cvy_device *device, prepacked_operand **link) {
  prepacked_operand *gone = *link;
  *link = gone->next;
  memory_give(device, gone->piece);
  free(gone);
}

/* Keeps the most recently used ones, `bytes` of them at most. */
static void trim(cvy_device *device, int64_t bytes) {
  for (prepacked_operand **link = &device->prepacked.first; *link;) {
    bytes -= (*link)->piece->bytes;
    if (bytes < 0)
      drop(device, link);
    else
      link = &(*link)->next;
  }
}

void prepacked_forget_all(cvy_device *device) {
  trim(device, 0);
}

void prepacked_forget(cvy_device *device, array_entry *entry) {
  if (!entry->prepacked) return;
  entry->prepacked = false;
  for (prepacked_operand **link = &device->prepacked.first; *link;) {
    if ((*link)->id == entry->id)
      drop(device, link);
    else
      link = &(*link)->next;
  }
}

static bool is_it(const prepacked_operand *operand, uint64_t id, const prepacked_form *form) {
  return operand->id == id && operand->form.of == form->of &&
         memcmp(operand->form.number, form->number, sizeof form->number) == 0;
}

static void put_first(cvy_device *device, prepacked_operand *operand) {
  operand->next = device->prepacked.first;
  device->prepacked.first = operand;
}

static convoy_status make(cvy_device *device, array_entry *entry, const prepacked_form *form,
                          int64_t bytes) {
  trim(device, device->facts.info.memory_bytes / SHARE - bytes);
  prepacked_operand *new = calloc(1, sizeof *new);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a prepacked operand");
  convoy_status status = memory_take(device, bytes, &new->piece);
  if (status) {
    free(new);
    return status;
  }
  new->id = entry->id;
  new->form = *form;
  put_first(device, new);
  entry->prepacked = true;
  return CONVOY_OK;
}

void prepacked_slot_drop(cvy_device *device, prepacked_slot *slot) {
  memory_give(device, slot->piece);
  slot->piece = NULL;
}

static convoy_status find_in_slot(cvy_device *device, int64_t bytes, bool *fresh) {
  prepacked_slot *slot = device->prepacked.slot;
  convoy_status status = CONVOY_OK;
  if (!slot->piece) {
    status = memory_take(device, bytes, &slot->piece);
    slot->fresh = true;
  }
  *fresh = slot->fresh;
  slot->fresh = false;
  return status;
}

void prepacked_give_up(cvy_device *device, uint64_t id) {
  if (device->prepacked.slot)
    prepacked_slot_drop(device, device->prepacked.slot);
  else
    prepacked_forget(device, arrays_find(&device->memory.arrays, id));
}

static convoy_status find_or_make(cvy_device *device, uint64_t id, const prepacked_form *form,
                                  int64_t bytes, bool *fresh) {
  prepacked_operand **link = &device->prepacked.first;
  while (*link && !is_it(*link, id, form)) link = &(*link)->next;
  prepacked_operand *found = *link;
  *fresh = !found;
  if (found) {
    *link = found->next;
    put_first(device, found);
    return CONVOY_OK;
  }
  array_entry *entry;
  convoy_status status = find_array(device, id, 0, &entry);
  return status ? status : make(device, entry, form, bytes);
}

convoy_status prepacked_find(cvy_device *device, uint64_t id, const prepacked_form *form,
                             int64_t bytes, span *out, bool *fresh) {
  if (device->programs.dry_run) {
    *out = (span){.memory = NULL};
    *fresh = true;
    return CONVOY_OK;
  }
  const prepacked_slot *slot = device->prepacked.slot;
  convoy_status status =
      slot ? find_in_slot(device, bytes, fresh) : find_or_make(device, id, form, bytes, fresh);
  if (status) return status;
  *out = span_of(slot ? slot->piece : device->prepacked.first->piece, ORIGIN_FORM);
  capture_form(device, id, form, bytes, *out, *fresh);
  return CONVOY_OK;
}
