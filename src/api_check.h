/* What every public function begins with: are the pointers there, are the structs of our time. */
#ifndef CVY_API_CHECK_H
#define CVY_API_CHECK_H

#include "base/base.h"

typedef struct cvy_pointer {
  const char *name;
  const void *at;
} cvy_pointer;

/* ERR_ARGUMENT naming the first pointer that is NULL. */
static inline convoy_status cvy_check_pointers(const cvy_pointer *pointers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!pointers[i].at) return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is NULL", pointers[i].name);
  }
  return CONVOY_OK;
}

/* For a struct that is filled: NULL only if `optional`, struct_size at least `size`. */
static inline convoy_status cvy_check_struct(const char *name, const void *at, size_t size,
                                             bool optional) {
  if (!at && optional) return CONVOY_OK;
  if (!at) return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is NULL", name);
  uint32_t given = *(const uint32_t *)at;
  if (given >= size) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%s->struct_size is %u, at least %zu are needed", name,
                  (unsigned)given, size);
}

#endif
