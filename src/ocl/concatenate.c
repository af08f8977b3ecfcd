/* ocl.concatenate: a launch for each input, whose items move one element or four neighbours. */
#include "ocl/concatenate.h"

#include "problem/move/move.h"

bool cvy_ocl_concatenate_is_wide(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  return p->images * cvy_move_concatenate_width(p) > CVY_OCL_MOST_FLOATS;
}

int32_t cvy_ocl_concatenate_width(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  for (int32_t i = 0; i < p->parts; i++)
    if (p->width[i] % 4 != 0) return 1;
  return 4;
}

const cvy_algorithm cvy_ocl_concatenate = {
    .name = "ocl.concatenate",
    .operations = CVY_OPERATION_BIT(CVY_MOVE_CONCATENATE),
    .conservative = true,
};
