/* The definition of reductions: one element of the results, in float32 in the order that engines
 * keep, and in float64. */
#include <math.h>
#include <string.h>

#include "program/mode.h"
#include "program/ops.h"
#include "program/reduce.h"
#include "program/scalar.h"

#include "program/reduce_functions.h"

/* What a lane has of one part; a sum, a maximum or a minimum is in the first. */
typedef struct part {
  real component[3];
} part;

typedef struct definition {
  const cvy_reduce_problem *problem;
  const void *const *inputs;
  cvy_reduce_parts parts;
  cvy_reduce_order order;
  cvy_program_nest
      nest; /* the kept axes outside, so that an element's number is kept * length + i */
  bool plain;
} definition;

/* Components that there are not are 0. */
static void note(definition *d, const part *p) {
  for (int i = 0; i < 3; i++) d->plain &= !cvy_is_denormal(p->component[i]);
}

static void define(const cvy_reduce_problem *problem, const void *const *inputs, definition *out) {
  cvy_program_problem of = problem->of;
  out->problem = problem;
  out->inputs = inputs;
  out->parts = cvy_reduce_parts_of(&problem->how);
  out->order = cvy_reduce_order_of(problem);
  out->plain = true;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) /* of no elements none is looked for */
    if (of.extent[axis] == 0) of.extent[axis] = 1;
  cvy_program_nest_of(&of, problem->how.results, problem->how.axes, &out->nest);
}

/* The program's results for element i of those that `kept` is made of; and those of devices that
 * take denormal numbers for 0. */
static void values_of(definition *d, int64_t kept, int64_t i, float *values, float *flushed) {
  cvy_program_cursor at = cvy_program_nest_at(&d->nest, kept * d->order.length + i);
  int64_t index = cvy_program_nest_offset(&d->nest, d->nest.index, &at);
  d->plain &=
      cvy_program_problem_element_in_mode(&d->problem->of, d->inputs, index, values, flushed);
}

/* ------------------------------------------------------------------------------------ in float32
 */

static void join(definition *d, int kind, part *into, const part *other) {
  real *a = into->component;
  const real *b = other->component;
  if (kind == CVY_PART_SUM) a[0] = program_add(a[0], b[0]);
  if (kind == CVY_PART_MAX) a[0] = program_max(a[0], b[0]);
  if (kind == CVY_PART_MIN) a[0] = program_min(a[0], b[0]);
  if (kind == CVY_PART_MOMENTS) {
    real share = program_divide(b[0], a[0] + b[0]);
    real distance = b[1] - a[1], square = distance * distance;
    d->plain &= !cvy_is_denormal(distance) && !cvy_is_denormal(square);
    d->plain &= !cvy_is_denormal(distance * share) && !cvy_is_denormal(square * (a[0] * share));
    reduce_join_moments(&a[0], &a[1], &a[2], b[0], b[1], b[2]);
  }
  note(d, into);
}

/* A group of 1 to 8 values to what a lane has. */
static void take_up(definition *d, int kind, part *into, const float *values, int count) {
  part group = {{(float)count, 0.0f, 0.0f}};
  if (kind != CVY_PART_MOMENTS) {
    for (int i = 0; i < count; i++) join(d, kind, into, &(part){{values[i], 0.0f, 0.0f}});
    return;
  }
  real sum = values[0];
  for (int i = 1; i < count; i++) {
    sum = sum + values[i];
    d->plain &= !cvy_is_denormal(sum);
  }
  group.component[1] = reduce_group_mean(sum, count);
  for (int i = 0; i < count; i++) {
    real square = reduce_square(values[i], group.component[1]);
    group.component[2] = i ? group.component[2] + square : square;
    d->plain &= !cvy_is_denormal(square) && !cvy_is_denormal(values[i] - group.component[1]);
  }
  note(d, &group);
  join(d, kind, into, &group);
}

static void set_nothing(const definition *d, part *parts) {
  memset(parts, 0, CVY_PROGRAM_RESULTS * sizeof *parts);
  for (int p = 0; p < d->parts.count; p++)
    parts[p].component[0] = cvy_part_of_nothing(d->parts.part[p].kind);
}

static void lane_of_piece(definition *d, int64_t kept, int64_t first, int64_t end, part *parts) {
  set_nothing(d, parts);
  for (int64_t i = first; i < end;) {
    float values[CVY_PROGRAM_RESULTS][CVY_REDUCE_GROUP] = {{0}};
    float one[CVY_PROGRAM_RESULTS] = {0}, flushed[CVY_PROGRAM_RESULTS];
    int count = 0;
    for (; count < CVY_REDUCE_GROUP && i < end; count++, i += d->order.lanes) {
      values_of(d, kept, i, one, flushed);
      for (int k = 0; k < d->problem->of.program.results; k++) values[k][count] = one[k];
    }
    for (int p = 0; p < d->parts.count; p++)
      take_up(d, d->parts.part[p].kind, &parts[p], values[d->parts.part[p].value], count);
  }
}

/* The upper half of the lanes into the lower, until one is left. */
static void join_lanes(definition *d, part (*lane)[CVY_PROGRAM_RESULTS], int lanes) {
  for (int half = lanes / 2; half; half /= 2) {
    for (int l = 0; l < half; l++) {
      for (int p = 0; p < d->parts.count; p++)
        join(d, d->parts.part[p].kind, &lane[l][p], &lane[l + half][p]);
    }
  }
}

static void reduce_piece(definition *d, int64_t kept, int piece, part *out) {
  part lane[CVY_REDUCE_LANES][CVY_PROGRAM_RESULTS] = {{{{0}}}};
  int64_t begin = piece * d->problem->piece, end = begin + d->problem->piece;
  if (end > d->order.length) end = d->order.length;
  for (int l = 0; l < d->order.lanes; l++) lane_of_piece(d, kept, begin + l, end, lane[l]);
  join_lanes(d, lane, d->order.lanes);
  memcpy(out, lane[0], sizeof lane[0]);
}

static float result_of(definition *d, const part *p, int kind) {
  real value = p->component[0];
  if (kind == CVY_REDUCE_MEAN) value = reduce_mean(p->component[0], p->component[1]);
  if (kind == CVY_REDUCE_VARIANCE) value = program_divide(p->component[2], (float)d->order.length);
  d->plain &= !cvy_is_denormal(value);
  return value;
}

static __attribute__((noinline)) void element(definition *d, int64_t kept, float *results) {
  part lane[CVY_REDUCE_LANES][CVY_PROGRAM_RESULTS] = {{{{0}}}};
  part next[CVY_PROGRAM_RESULTS] = {{{0}}};
  const cvy_reduction *how = &d->problem->how;
  for (int l = 0; l < d->order.piece_lanes; l++) set_nothing(d, lane[l]);
  for (int piece = 0; piece < d->order.pieces; piece++) {
    part *total = lane[piece % d->order.piece_lanes];
    reduce_piece(d, kept, piece, piece < d->order.piece_lanes ? total : next);
    for (int p = 0; piece >= d->order.piece_lanes && p < d->parts.count; p++)
      join(d, d->parts.part[p].kind, &total[p], &next[p]);
  }
  join_lanes(d, lane, d->order.piece_lanes);
  for (int k = 0; k < how->results; k++)
    results[k] = result_of(d, &lane[0][d->parts.part_of[k]], how->result[k].kind);
}

bool cvy_reduce_element(const cvy_reduce_problem *problem, const void *const *inputs, int64_t kept,
                        float *results) {
  fenv_t before;
  definition d;
  define(problem, inputs, &d);
  cvy_default_mode(&before);
  element(&d, kept, results);
  cvy_restore_mode(&before);
  return d.plain;
}

/* ------------------------------------------------------------------------------------ in float64
 */

int64_t cvy_reduce_terms(const cvy_reduce_problem *problem) {
  cvy_reduce_order order = cvy_reduce_order_of(problem);
  int64_t piece = order.length < problem->piece ? order.length : problem->piece;
  int64_t terms = (piece + order.lanes - 1) / order.lanes;
  terms += (order.pieces + order.piece_lanes - 1) / order.piece_lanes;
  for (int lanes = order.lanes; lanes > 1; lanes /= 2) terms++;
  for (int lanes = order.piece_lanes; lanes > 1; lanes /= 2) terms++;
  return terms;
}

double cvy_reduce_bound(const cvy_reduce_problem *problem, double magnitude) {
  if (magnitude == 0.0) return 0.0;
  /* And what is less than the smallest normal number may count as 0. */
  return 2.0 * ((double)cvy_reduce_terms(problem) + 2.0) * 0x1p-24 * magnitude + 0x1p-120;
}

/* Of all values, with denormal numbers kept and with 0 in their place. */
enum { KEPT, FLUSHED, WAYS };

typedef struct sums {
  double sum, size, largest, smallest, furthest, squares;
} sums;

static void add_value(sums *of, double value, double mean) {
  double distance = value - mean;
  of->squares += distance * distance;
  of->sum += value;
  of->size += fabs(value);
  of->furthest = fmax(of->furthest, fabs(value));
  if (isnan(value) || value > of->largest) of->largest = value;
  if (isnan(value) || value < of->smallest) of->smallest = value;
}

static void add_values(definition *d, int64_t kept, const double (*means)[CVY_PROGRAM_RESULTS],
                       sums (*of)[CVY_PROGRAM_RESULTS]) {
  float values[WAYS][CVY_PROGRAM_RESULTS];
  for (int64_t i = 0; i < d->order.length; i++) {
    values_of(d, kept, i, values[KEPT], values[FLUSHED]);
    for (int way = 0; way < WAYS; way++) {
      for (int k = 0; k < d->problem->of.program.results; k++)
        add_value(&of[way][k], (double)values[way][k], means[way][k]);
    }
  }
}

static cvy_reduced reduced_of(const definition *d, const sums *of, int kind) {
  double length = (double)d->order.length, variance = of->squares / length;
  double rounding = (double)cvy_reduce_terms(d->problem) * 0x1p-24 * of->furthest;
  const cvy_reduced all[CVY_REDUCE_KINDS] = {
      [CVY_REDUCE_SUM] = {.value = of->sum, .magnitude = of->size},
      [CVY_REDUCE_MEAN] = {.value = of->sum / length, .magnitude = 2.0 * of->furthest},
      [CVY_REDUCE_MAX] = {.value = of->largest},
      [CVY_REDUCE_MIN] = {.value = of->smallest},
      [CVY_REDUCE_VARIANCE] = {.value = variance,
                               .magnitude = 4.0 * variance + 4.0 * sqrt(variance) * of->furthest +
                                            4.0 * rounding * of->furthest},
  };
  return all[kind];
}

/* The larger magnitude, and the one that says nothing is known before all others. */
static cvy_reduced both_ways(cvy_reduced kept, cvy_reduced flushed) {
  bool larger = isnan(flushed.magnitude) || flushed.magnitude > kept.magnitude;
  kept.flushed = flushed.value;
  if (larger) kept.magnitude = flushed.magnitude;
  return kept;
}

static __attribute__((noinline)) void add_all(definition *d, int64_t kept,
                                              const double (*means)[CVY_PROGRAM_RESULTS],
                                              sums (*of)[CVY_PROGRAM_RESULTS]) {
  for (int way = 0; way < WAYS; way++) {
    for (int k = 0; k < CVY_PROGRAM_RESULTS; k++)
      of[way][k] = (sums){.largest = -INFINITY, .smallest = INFINITY};
  }
  add_values(d, kept, means, of);
}

/* Distances are from the mean, which takes all values once before. */
static bool has_variance(const cvy_reduction *how) {
  for (int k = 0; k < how->results; k++)
    if (how->result[k].kind == CVY_REDUCE_VARIANCE) return true;
  return false;
}

void cvy_reduce_element64(const cvy_reduce_problem *problem, const void *const *inputs,
                          int64_t kept, cvy_reduced *results) {
  fenv_t before;
  definition d;
  sums of[WAYS][CVY_PROGRAM_RESULTS];
  double means[WAYS][CVY_PROGRAM_RESULTS] = {{0.0}};
  define(problem, inputs, &d);
  cvy_default_mode(&before);
  add_all(&d, kept, means, of);
  for (int way = 0; way < WAYS; way++) {
    for (int k = 0; k < CVY_PROGRAM_RESULTS; k++)
      means[way][k] = of[way][k].sum / (double)d.order.length;
  }
  if (has_variance(&problem->how)) add_all(&d, kept, means, of);
  cvy_restore_mode(&before);
  for (int k = 0; k < problem->how.results; k++) {
    int value = problem->how.result[k].value, kind = problem->how.result[k].kind;
    results[k] = both_ways(reduced_of(&d, &of[KEPT][value], kind),
                           reduced_of(&d, &of[FLUSHED][value], kind));
  }
}
