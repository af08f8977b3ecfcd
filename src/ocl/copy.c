/* ocl.copy: an item makes one element or four neighbours of y. Where neighbours in y are apart in x
 * a work-group turns a tile round in local memory, so that both sides are read and written in
 * lines. */
#include "ocl/copy.h"

#include "problem/move/move.h"

enum { TILE = 32, LEAST_TILED = 16 /* of either side, or most of a tile would be idle */ };

static int32_t find_across(const cvy_move_copy *p, bool filled) {
  int32_t last = p->axes - 1;
  if (filled || p->stride[last] == 1 || p->extent[last] < LEAST_TILED) return CVY_OCL_NOT_ACROSS;
  for (int32_t axis = 0; axis < last; axis++)
    if (p->stride[axis] == 1 && p->extent[axis] >= LEAST_TILED) return axis;
  return CVY_OCL_NOT_ACROSS;
}

/* Whether each four neighbours of y are aligned neighbours of x, or all something else. */
static bool takes_four(const cvy_move_copy *p) {
  int32_t last = p->axes - 1;
  if (!cvy_move_axis_is_full(p, last) || p->stride[last] != 1) return false;
  if (p->extent[last] % 4 != 0 || p->offset % 4 != 0) return false;
  for (int32_t axis = 0; axis < last; axis++)
    if (p->stride[axis] % 4 != 0) return false;
  return true;
}

static bool is_stepped(const cvy_move_copy *p) {
  for (int32_t axis = 0; axis < p->axes; axis++)
    if (p->step[axis] > 1) return true;
  return false;
}

cvy_ocl_copy_plan cvy_ocl_copy_plan_for(const cvy_problem *problem, const cvy_facts *facts) {
  const cvy_move_copy *p = &problem->move.copy;
  int64_t results = cvy_move_copy_results(p), columns = p->extent[p->axes - 1];
  cvy_ocl_copy_plan plan = {
      .wide = results > CVY_OCL_MOST_FLOATS || p->elements > CVY_OCL_MOST_FLOATS,
      .filled = !cvy_move_copy_is_full(p),
      .stepped = is_stepped(p),
      .width = takes_four(p) ? 4 : 1,
      .group_items = cvy_ocl_group_items(facts),
  };
  plan.across = find_across(p, plan.filled);
  plan.items = results / plan.width;
  plan.work_groups = cvy_ocl_ceil_div(plan.items, plan.group_items);
  if (plan.across == CVY_OCL_NOT_ACROSS) return plan;
  int64_t rows = p->extent[plan.across];
  plan.tile = plan.group_items < TILE ? plan.group_items : TILE;
  plan.rows_of_tiles = cvy_ocl_ceil_div(rows, plan.tile);
  plan.columns_of_tiles = cvy_ocl_ceil_div(columns, plan.tile);
  plan.work_groups = results / rows / columns * plan.rows_of_tiles * plan.columns_of_tiles;
  return plan;
}

const cvy_algorithm cvy_ocl_copy = {
    .name = "ocl.copy",
    .operations = CVY_OPERATION_BIT(CVY_MOVE_COPY),
    .conservative = true,
};
