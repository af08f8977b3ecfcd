/* Tensors of many parameters, their gradients and state, that one call goes over. */
#ifndef CVY_NN_LISTS_H
#define CVY_NN_LISTS_H

#include "nn/composition.h"

/* One tensor for each parameter. */
typedef struct cvy_list {
  const char *name;
  convoy_tensor *const *tensor;
} cvy_list;

/* That they are there: ERR_ARGUMENT. */
convoy_status cvy_lists_check(int32_t count, const cvy_list *lists, int32_t number);
/* That they are float32 and, for each parameter, of the extents of the first list's. */
bool cvy_lists_check_extents(cvy_composition *c, int32_t count, const cvy_list *lists,
                             int32_t number);

#endif
