/* Prepacked operands: what launch code makes of an array once and uses again, such as packed
 * weights. They are kept until the array changes or goes. */
#ifndef CVY_OCL_ENGINE_PREPACKED_H
#define CVY_OCL_ENGINE_PREPACKED_H

#include "backend.h"
#include "ocl/engine/arrays.h"
#include "ocl/engine/bindings.h"

/* How an array is prepacked. Equal forms of an array that was not written to have equal contents.
 */
typedef struct prepacked_form {
  const cvy_algorithm *of;
  int64_t number[8]; /* all that the contents depend on but the array; unused ones are 0 */
} prepacked_form;

/* Where a step of a plan keeps its operand, which it knows to be as it was, or not. */
typedef struct prepacked_slot {
  arena_piece *piece; /* NULL: there is none */
  bool fresh;         /* it has no contents yet */
} prepacked_slot;

/* A device's part of this module: most recently used first. */
typedef struct device_prepacked {
  struct prepacked_operand *first;
  prepacked_slot *slot; /* of the plan's step under way, whose operand is found there and only
                           there; NULL: there is no such step */
} device_prepacked;

/* Memory of array `id` in a form. With *fresh it has no contents yet, and the caller enqueues
 * making them. The span serves until memory is taken again. */
convoy_status prepacked_find(cvy_device *device, uint64_t id, const prepacked_form *form,
                             int64_t bytes, span *out, bool *fresh);
/* What was found fresh will not be made. */
void prepacked_give_up(cvy_device *device, uint64_t id);
void prepacked_slot_drop(cvy_device *device, prepacked_slot *slot);
/* The array's contents change, or it goes. */
void prepacked_forget(cvy_device *device, array_entry *entry);
void prepacked_forget_all(cvy_device *device);

#endif
