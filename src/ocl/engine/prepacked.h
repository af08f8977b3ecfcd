/* Prepacked operands: what launch code makes of an array once and uses again, such as packed
 * weights. They are kept until the array changes or goes. */
#ifndef CVY_OCL_ENGINE_PREPACKED_H
#define CVY_OCL_ENGINE_PREPACKED_H

#include "backend.h"
#include "ocl/engine/arrays.h"
#include "ocl/engine/bindings.h"

/* How an array is prepacked. Equal forms of an array that nobody wrote to have equal contents. */
typedef struct prepacked_form {
  const cvy_algorithm *of;
  int64_t number[8]; /* all that the contents depend on but the array; unused ones are 0 */
} prepacked_form;

/* A device's part of this module: most recently used first. */
typedef struct device_prepacked {
  struct prepacked_operand *first;
} device_prepacked;

/* Memory of array `id` in a form. With *fresh it has no contents yet, and the caller enqueues
 * making them. The span serves until memory is taken again. */
convoy_status prepacked_find(cvy_device *device, uint64_t id, const prepacked_form *form,
                             int64_t bytes, span *out, bool *fresh);
/* The array's contents change, or it goes. */
void prepacked_forget(cvy_device *device, array_entry *entry);
void prepacked_forget_all(cvy_device *device);

#endif
