/* The gradient of a copy: what was repeated is summed, and then all goes the way back. */
#include "problem/move/move.h"
#include "problem/program/program.h"

/* A gradient on its way: the operand, and how its elements are those of a copy's y. */
typedef struct way_back {
  cvy_gradient_operand from;
  cvy_move_copy p;
} way_back;

static bool is_repeated(const cvy_move_copy *p, int32_t axis) {
  return p->count[axis] > 1 && p->stride[axis] == 0;
}

static int64_t product(const int64_t *extent, int32_t begin, int32_t end) {
  int64_t count = 1;
  for (int32_t axis = begin; axis < end; axis++) count *= extent[axis];
  return count;
}

/* Whether it would give the same elements in the same order. */
static bool is_identity(const cvy_move_copy *p) {
  return p->axes == 1 && p->count[0] == p->elements && p->extent[0] == p->elements &&
         (p->stride[0] == 1 || p->elements == 1);
}

convoy_status cvy_move_add_copy(const convoy_box *how, int64_t elements, cvy_gradient_operand *from,
                                cvy_gradient *out) {
  cvy_problem copy;
  convoy_status status = cvy_move_copy_make(how, CONVOY_FLOAT32, elements, &copy);
  if (status || is_identity(&copy.move.copy)) return status;
  cvy_gradient_step *step = cvy_gradient_add(out);
  cvy_problem_copy(&step->problem, &copy);
  step->in[0] = *from;
  *from = cvy_gradient_result(out, 0);
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------- repetitions */

/* What y has of x alone, without what lies around or between. */
static convoy_status take_box(way_back *way, cvy_gradient *out) {
  cvy_move_copy *p = &way->p;
  convoy_box how = CONVOY_BOX_INIT(p->axes);
  int64_t elements = cvy_move_copy_results(p);
  for (int32_t axis = 0; axis < p->axes; axis++) {
    int64_t pitch = product(p->extent, axis + 1, p->axes);
    how.extent[axis] = how.count[axis] = p->count[axis];
    how.offset += p->begin[axis] * pitch;
    how.stride[axis] = p->step[axis] * pitch;
  }
  for (int32_t axis = 0; axis < p->axes; axis++) {
    p->extent[axis] = p->count[axis];
    p->begin[axis] = 0;
    p->step[axis] = 1;
  }
  return cvy_move_add_copy(&how, elements, &way->from, out);
}

/* Over the axes from `begin` on and before `end`, of which each then has one place. */
static convoy_status sum_axes(const cvy_problem *problem, int32_t begin, int32_t end, way_back *way,
                              cvy_gradient *out) {
  cvy_move_copy *p = &way->p;
  char text[128];
  cvy_gradient_step *step = cvy_gradient_add(out);
  cvy_text to = cvy_text_in(text, sizeof text);
  cvy_text_add(&to, "s = sum over c of x on n%lldc%lldz%lld",
               (long long)product(p->extent, 0, begin), (long long)product(p->extent, begin, end),
               (long long)product(p->extent, end, p->axes));
  if (!cvy_program_read(text, &step->problem))
    return cvy_gradient_refuse(problem, "too many repetitions are to be summed");
  step->in[0] = way->from;
  way->from = cvy_gradient_result(out, 0);
  for (int32_t axis = begin; axis < end; axis++) p->extent[axis] = p->count[axis] = 1;
  return CONVOY_OK;
}

static convoy_status sum_repetitions(const cvy_problem *problem, way_back *way, cvy_gradient *out) {
  cvy_move_copy *p = &way->p;
  convoy_status status = CONVOY_OK;
  bool boxed = false;
  for (int32_t axis = 0; axis < p->axes; axis++)
    boxed |= is_repeated(p, axis) && !cvy_move_axis_is_full(p, axis);
  if (boxed) status = take_box(way, out);
  for (int32_t begin = 0, end; begin < p->axes && !status; begin = end + 1) {
    for (end = begin; end < p->axes && is_repeated(p, end);) end++;
    if (end > begin) status = sum_axes(problem, begin, end, way, out);
  }
  return status;
}

/* --------------------------------------------------------------------------------- transposed */

/* An axis of x: how far its elements are apart there and in the gradient for y. */
typedef struct source_axis {
  int64_t apart, count, stride;
} source_axis;

/* By their distance in x, the largest first. */
static void insert(source_axis axis, source_axis *axes, int32_t count) {
  int32_t at = count;
  for (; at > 0 && axes[at - 1].apart < axis.apart; at--) axes[at] = axes[at - 1];
  axes[at] = axis;
}

/* The axes with more than one element, all in the direction in which x goes; where x has the first
 * element of all, and where the gradient has it. */
static int32_t find_axes(const cvy_move_copy *p, source_axis *axes, int64_t *first, int64_t *from) {
  int32_t count = 0;
  *first = p->offset;
  *from = 0;
  for (int32_t a = 0; a < p->axes; a++) {
    int64_t pitch = product(p->extent, a + 1, p->axes), last = p->count[a] - 1;
    source_axis axis = {p->stride[a], p->count[a], p->step[a] * pitch};
    *from += p->begin[a] * pitch;
    if (last == 0) continue;
    if (axis.apart < 0) {
      *first += axis.apart * last;
      *from += axis.stride * last;
      axis.apart = -axis.apart;
      axis.stride = -axis.stride;
    }
    insert(axis, axes, count++);
  }
  return count;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* From the first to the last element along these axes, both counted. */
static int64_t span_of(const source_axis *axes, int32_t count) {
  int64_t span = 1;
  for (int32_t i = 0; i < count; i++) span += axes[i].apart * (axes[i].count - 1);
  return span;
}

/* x as nested blocks, one axis for each level: elements along an axis are in blocks of a size that
 * divides their distance, in which all that lies along the axes behind it has room. */
static bool find_blocks(const cvy_move_copy *p, convoy_box *out) {
  source_axis axes[CVY_MOVE_AXES];
  int64_t first, size = p->elements;
  int32_t count = find_axes(p, axes, &first, &out->offset);
  out->axes = count ? count : 1;
  out->extent[0] = size;
  out->begin[0] = first;
  out->count[0] = 1;
  for (int32_t i = 0; i < count; i++) {
    int64_t block = i + 1 < count ? common_divisor(size, axes[i].apart) : 1;
    if (first % block + span_of(axes + i + 1, count - i - 1) > block) return false;
    out->extent[i] = size / block;
    out->begin[i] = first / block;
    out->step[i] = axes[i].apart / block;
    out->count[i] = axes[i].count;
    out->stride[i] = axes[i].stride;
    first %= block;
    size = block;
  }
  return true;
}

convoy_status cvy_move_copy_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                     cvy_gradient *out) {
  way_back way = {{CVY_GRADIENT_OF_OUTPUT, 0, 0}, problem->move.copy};
  convoy_box how = CONVOY_BOX_INIT(1);
  (void)wanted, (void)given; /* there is one of each */
  if (way.p.count[0] == 0) return CONVOY_OK;
  convoy_status status = sum_repetitions(problem, &way, out);
  if (status) return status;
  if (!find_blocks(&way.p, &how))
    return cvy_gradient_refuse(
        problem, "elements of x are several elements of y, or in an order that is no copy's");
  status = cvy_move_add_copy(&how, cvy_move_copy_results(&way.p), &way.from, out);
  out->of[0] = way.from;
  return status;
}
