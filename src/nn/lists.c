/* Checks of lists of tensors. */
#include "nn/lists.h"

#include <stdio.h>

static convoy_status check(int32_t count, const cvy_list *list) {
  if (!list->tensor) return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is NULL", list->name);
  for (int32_t i = 0; i < count; i++)
    if (!list->tensor[i])
      return cvy_fail(CONVOY_ERR_ARGUMENT, "%s[%d] is NULL", list->name, (int)i);
  return CONVOY_OK;
}

convoy_status cvy_lists_check(int32_t count, const cvy_list *lists, int32_t number) {
  convoy_status status = CONVOY_OK;
  if (count < 1)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "count is %d, at least one tensor is needed", (int)count);
  for (int32_t l = 0; l < number && !status; l++) status = check(count, &lists[l]);
  return status;
}

bool cvy_lists_check_extents(cvy_composition *c, int32_t count, const cvy_list *lists,
                             int32_t number) {
  char name[32];
  for (int32_t i = 0; i < count && !c->status; i++) {
    for (int32_t l = 0; l < number && !c->status; l++) {
      snprintf(name, sizeof name, "%s[%d]", lists[l].name, (int)i);
      cvy_compose_check_like(c, name, lists[l].tensor[i], lists[0].tensor[i]);
    }
  }
  return !c->status;
}
