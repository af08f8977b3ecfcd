/* ocl.concatenate: a launch for each input, whose items move one element or four neighbours. */
#include "ocl/concatenate.h"

#include "problem/move/move.h"

bool cvy_ocl_concatenate_is_wide(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  int64_t most = cvy_move_concatenate_y_pitch(p);
  for (int32_t i = 0; i < p->parts; i++)
    if (cvy_move_concatenate_x_pitch(p, i) > most) most = cvy_move_concatenate_x_pitch(p, i);
  return p->images * most > CVY_OCL_MOST_FLOATS;
}

int32_t cvy_ocl_concatenate_width(const cvy_problem *problem) {
  return cvy_move_concatenate_has_fours(&problem->move.concatenate) ? 4 : 1;
}

const cvy_algorithm cvy_ocl_concatenate = {
    .name = "ocl.concatenate",
    .operations = CVY_OPERATION_BIT(CVY_MOVE_CONCATENATE),
    .conservative = true,
};
