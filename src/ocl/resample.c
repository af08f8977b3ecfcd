/* ocl.resample: an item gathers what elements of the result are made of. Where rows are doubled it
 * makes four elements of y of two of x, or the gradient of these two of those four. */
#include "ocl/resample.h"

#include "problem/resampling/resampling.h"

cvy_ocl_resample_plan cvy_ocl_resample_plan_for(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  int64_t maps = p->n * p->c, inputs = maps * cvy_resampling_in_volume(problem),
          outputs = maps * cvy_resampling_out_volume(problem);
  bool fours = p->out[2] % 4 == 0 && cvy_array_view_takes_fours(&p->y);
  cvy_ocl_resample_plan plan = {
      .wide = p->n * cvy_resampling_x_pitch(problem) > CVY_OCL_MOST_FLOATS ||
              p->n * cvy_resampling_y_pitch(problem) > CVY_OCL_MOST_FLOATS,
      .doubles =
          cvy_resampling_doubles(problem, 2) && fours && cvy_array_view_alignment(&p->x) % 2 == 0,
      .width = fours ? 4 : 1,
  };
  if (cvy_resampling_is_backward(problem))
    plan.items = plan.doubles ? inputs / 2 : inputs;
  else
    plan.items = outputs / plan.width;
  return plan;
}

const cvy_algorithm cvy_ocl_resample = {
    .name = "ocl.resample",
    .operations = CVY_RESAMPLING_ALL,
    .conservative = true,
};
