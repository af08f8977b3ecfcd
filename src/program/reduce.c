/* Reductions as problems: parts, order, legality, text. */
#include "program/reduce.h"

#include <math.h>
#include <string.h>

#include "program/reduce_names.h"

const char *const cvy_reduce_names[CVY_REDUCE_KINDS] = {
    [CVY_REDUCE_SUM] = "sum",     [CVY_REDUCE_MEAN] = "mean",         [CVY_REDUCE_MAX] = "maximum",
    [CVY_REDUCE_MIN] = "minimum", [CVY_REDUCE_VARIANCE] = "variance",
};

/* --------------------------------------------------------------------------------------- parts */

static const uint8_t part_of_kind[CVY_REDUCE_KINDS] = {
    [CVY_REDUCE_SUM] = CVY_PART_SUM,          [CVY_REDUCE_MEAN] = CVY_PART_MOMENTS,
    [CVY_REDUCE_MAX] = CVY_PART_MAX,          [CVY_REDUCE_MIN] = CVY_PART_MIN,
    [CVY_REDUCE_VARIANCE] = CVY_PART_MOMENTS,
};

int cvy_part_components(int kind) {
  return kind == CVY_PART_MOMENTS ? 3 : 1;
}

float cvy_part_of_nothing(int kind) {
  static const float first[CVY_PART_KINDS] = {
      [CVY_PART_MAX] = -INFINITY, [CVY_PART_MIN] = INFINITY};
  return first[kind];
}

cvy_reduce_parts cvy_reduce_parts_of(const cvy_reduction *how) {
  cvy_reduce_parts parts;
  memset(&parts, 0, sizeof parts);
  for (int k = 0; k < how->results; k++) {
    int kind = part_of_kind[how->result[k].kind], value = how->result[k].value, i = 0;
    while (i < parts.count && (parts.part[i].kind != kind || parts.part[i].value != value)) i++;
    parts.part_of[k] = (uint8_t)i;
    if (i < parts.count) continue;
    parts.part[i].kind = (uint8_t)kind;
    parts.part[i].value = (uint8_t)value;
    parts.part[i].first = (uint8_t)parts.components;
    parts.components += cvy_part_components(kind);
    parts.count++;
  }
  return parts;
}

int cvy_reduce_component(const cvy_reduce_parts *parts, const cvy_reduction *how, int result) {
  static const uint8_t place[CVY_REDUCE_KINDS] = {[CVY_REDUCE_MEAN] = 1, [CVY_REDUCE_VARIANCE] = 2};
  return parts->part[parts->part_of[result]].first + place[how->result[result].kind];
}

/* --------------------------------------------------------------------------------------- order */

static int64_t product(const int64_t *extent, uint32_t axes) {
  int64_t count = 1;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (axes >> axis & 1) count *= extent[axis];
  return count;
}

int64_t cvy_reduce_kept(const int64_t *extent, uint32_t axes) {
  return product(extent, ~axes);
}

int64_t cvy_reduce_length(const int64_t *extent, uint32_t axes) {
  return product(extent, axes);
}

/* The power of two at or above, at most 256. */
static int32_t lanes_for(int64_t count) {
  int32_t lanes = 1;
  while (lanes < CVY_REDUCE_LANES && lanes < count) lanes *= 2;
  return lanes;
}

static int32_t lanes_of(const int64_t *extent, uint32_t axes) {
  int last = CVY_PROGRAM_AXES - 1;
  while (last >= 0 && extent[last] == 1) last--;
  if (last < 0 || !(axes >> last & 1)) return 1;
  return lanes_for(cvy_reduce_length(extent, axes));
}

static int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

int64_t cvy_reduce_default_piece(const int64_t *extent, uint32_t axes, int64_t busy) {
  int64_t lanes = lanes_of(extent, axes), step = CVY_REDUCE_GROUP * lanes;
  int64_t kept = cvy_reduce_kept(extent, axes), length = cvy_reduce_length(extent, axes);
  int64_t groups = lanes > 1 ? kept : (kept + CVY_REDUCE_LANES - 1) / CVY_REDUCE_LANES;
  int64_t pieces = groups ? (busy + groups - 1) / groups : 1;
  if (pieces > CVY_REDUCE_MOST_PIECES) pieces = CVY_REDUCE_MOST_PIECES;
  int64_t piece = round_up((length + pieces - 1) / pieces, step);
  if (piece < step) piece = step; /* an empty one */
  return piece < CVY_REDUCE_LONGEST_PIECE ? piece : CVY_REDUCE_LONGEST_PIECE;
}

cvy_reduce_order cvy_reduce_order_of(const cvy_reduce_problem *problem) {
  const int64_t *extent = problem->of.extent;
  cvy_reduce_order order = {.lanes = lanes_of(extent, problem->how.axes),
                            .kept = cvy_reduce_kept(extent, problem->how.axes),
                            .length = cvy_reduce_length(extent, problem->how.axes)};
  order.pieces = (int32_t)((order.length + problem->piece - 1) / problem->piece);
  if (order.pieces < 1) order.pieces = 1; /* an empty one */
  order.piece_lanes = lanes_for(order.pieces);
  return order;
}

/* ------------------------------------------------------------------------------------- problems */

static void kept_extents(const int64_t *extent, uint32_t axes, int64_t *kept) {
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    kept[axis] = (axes >> axis & 1) ? 1 : extent[axis];
}

void cvy_reduce_space(const cvy_reduce_problem *problem, cvy_program_problem *out) {
  *out = problem->of;
  if (cvy_reduce_length(problem->of.extent, problem->how.axes) == 0)
    kept_extents(problem->of.extent, problem->how.axes, out->extent);
}

void cvy_reduce_problem_init(const cvy_program *program, const cvy_reduction *how,
                             const int64_t *extent, const cvy_program_class *inputs,
                             cvy_reduce_problem *out) {
  int64_t kept[CVY_PROGRAM_AXES];
  memset(out, 0, sizeof *out);
  cvy_program_problem_init(program, extent, inputs, &out->of);
  memset(out->of.result, 0, sizeof out->of.result);
  out->how = *how;
  kept_extents(extent, how->axes, kept);
  for (int k = 0; k < how->results; k++)
    out->of.result[k] = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, kept);
  out->piece = cvy_reduce_default_piece(extent, how->axes, CVY_REDUCE_BUSY);
}

static convoy_status check_how(const cvy_reduce_problem *problem) {
  const cvy_reduction *how = &problem->how;
  if (how->axes == 0 || how->axes >= 1u << CVY_PROGRAM_AXES || how->results < 1 ||
      how->results > CVY_PROGRAM_RESULTS) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "reduction: the bits of the axes are %d, %d results",
                    how->axes, how->results);
  }
  for (int k = 0; k < CVY_PROGRAM_RESULTS; k++) {
    bool used = k < how->results;
    int kinds = used ? CVY_REDUCE_KINDS : 1, values = used ? problem->of.program.results : 1;
    if (how->result[k].kind >= kinds || how->result[k].value >= values) {
      return cvy_fail(CONVOY_ERR_ARGUMENT, "reduction: result %d is of kind %d and value %d", k,
                      how->result[k].kind, how->result[k].value);
    }
  }
  for (size_t i = 0; i < sizeof problem->reserved; i++)
    if (problem->reserved[i])
      return cvy_fail(CONVOY_ERR_ARGUMENT, "reduction: what is not used is not 0");
  return CONVOY_OK;
}

static convoy_status check_piece(const cvy_reduce_problem *problem) {
  int64_t step = (int64_t)CVY_REDUCE_GROUP * lanes_of(problem->of.extent, problem->how.axes);
  int64_t length = cvy_reduce_length(problem->of.extent, problem->how.axes);
  if (problem->piece < step || problem->piece % step || problem->piece > CVY_REDUCE_LONGEST_PIECE ||
      length / problem->piece >= INT32_MAX) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "reduction: pieces of %lld elements, not a multiple of %lld up to %d, of %lld",
                    (long long)problem->piece, (long long)step, CVY_REDUCE_LONGEST_PIECE,
                    (long long)length);
  }
  return CONVOY_OK;
}

convoy_status cvy_reduce_problem_check(const cvy_reduce_problem *problem) {
  int64_t kept[CVY_PROGRAM_AXES];
  convoy_status status = cvy_program_check_inputs(&problem->of);
  if (!status) status = check_how(problem);
  if (status) return status;
  kept_extents(problem->of.extent, problem->how.axes, kept);
  status = cvy_program_check_results(&problem->of, problem->how.results, kept);
  return status ? status : check_piece(problem);
}

int cvy_reduce_problem_work(const cvy_reduce_problem *problem) {
  static const int work[CVY_PART_KINDS] = {
      [CVY_PART_SUM] = 1, [CVY_PART_MAX] = 1, [CVY_PART_MIN] = 1, [CVY_PART_MOMENTS] = 8};
  cvy_reduce_parts parts = cvy_reduce_parts_of(&problem->how);
  int each = cvy_program_uses_of(&problem->of.program).work;
  for (int i = 0; i < parts.count; i++) each += work[parts.part[i].kind];
  return each;
}

double cvy_reduce_problem_flops(const cvy_reduce_problem *problem) {
  return (double)cvy_program_count(problem->of.extent) * cvy_reduce_problem_work(problem);
}
