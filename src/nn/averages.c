/* Moving averages of parameters. */
#include "api_check.h"
#include "nn/lists.h"

enum { AVERAGE, W, LISTS };

static void average(cvy_composition *c, const convoy_tensor *share, int32_t count,
                    const cvy_list *list) {
  if (!cvy_lists_check_extents(c, count, list, LISTS) ||
      !cvy_compose_check_number(c, "share", share))
    return;
  for (int32_t i = 0; i < count; i++) {
    convoy_tensor *of = list[AVERAGE].tensor[i];
    cvy_compose(
        c, CVY_NN_AVERAGE,
        (const cvy_view[]){cvy_view_of(of), cvy_view_of(share), cvy_view_of(list[W].tensor[i]),
                           cvy_view_of(cvy_compose_output(c, of))});
  }
}

convoy_status convoy_moving_average(convoy_context *context, const convoy_tensor *share,
                                    int32_t count, convoy_tensor *const w[],
                                    convoy_tensor *const averages[], convoy_run *run) {
  const cvy_list list[LISTS] = {[AVERAGE] = {"average", averages}, [W] = {"w", w}};
  const cvy_pointer given[] = {{"share", share}};
  cvy_composition c;
  convoy_status status = cvy_lists_check(count, list, LISTS);
  if (!status) status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  average(&c, share, count, list);
  return cvy_composition_end(&c);
}
