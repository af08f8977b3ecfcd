/* Concatenation: from the shapes of operands to a problem, and its row. */
#include "problem/move/move.h"

typedef long long ll;

int64_t cvy_move_concatenate_width(const cvy_move_concatenate *p) {
  int64_t width = 0;
  for (int32_t i = 0; i < p->parts; i++) width += p->width[i];
  return width;
}

/* --------------------------------------------------------------------------------- legality */

static bool parts_legal(const cvy_move_concatenate *p) {
  for (int32_t i = 0; i < CVY_MOVE_PARTS; i++) {
    if (p->width[i] < 0 || p->dtype[i] < 0 || p->dtype[i] >= CONVOY_DTYPES) return false;
    if (i >= p->parts && (p->width[i] || p->dtype[i])) return false;
    if (!cvy_array_view_legal(&p->x[i], p->images, p->width[i])) return false;
    bool has_part = i < p->parts && p->dtype[i] == CONVOY_FLOAT32;
    if (!has_part && (cvy_array_view_is_part(&p->x[i]) || (p->settled >> i & 1))) return false;
  }
  return p->settled >= 0 && p->settled >> CVY_MOVE_PARTS == 0;
}

/* Whether the bytes of y fit int64_t, and an image's too where there is none. */
static bool results_fit(const cvy_move_concatenate *p) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < p->parts; i++)
    if (__builtin_add_overflow(bytes, p->width[i], &bytes)) return false;
  return !__builtin_mul_overflow(bytes, (int64_t)sizeof(float), &bytes) &&
         !__builtin_mul_overflow(bytes, p->images, &bytes);
}

bool cvy_move_concatenate_legal(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  if (problem->accumulate || p->parts < 1 || p->parts > CVY_MOVE_PARTS) return false;
  if (p->images < 0 || !parts_legal(p) || !results_fit(p)) return false;
  return cvy_array_view_legal(&p->y, p->images, cvy_move_concatenate_width(p));
}

/* ------------------------------------------------------------------------------------ making */

static int64_t product(const int64_t *extent, int32_t begin, int32_t end) {
  int64_t count = 1;
  for (int32_t axis = begin; axis < end; axis++) count *= extent[axis];
  return count;
}

static convoy_status check_input(int32_t axis, int32_t i, const cvy_shape *x, const cvy_shape *y) {
  if (x->dims != y->dims)
    return cvy_fail(CONVOY_ERR_SHAPE, "concatenate: input %d has %d extents, y has %d", (int)i,
                    (int)x->dims, (int)y->dims);
  for (int32_t a = 0; a < y->dims; a++) {
    if (a != axis && x->extent[a] != y->extent[a])
      return cvy_fail(CONVOY_ERR_SHAPE, "concatenate: extent %d of input %d is %lld, of y %lld",
                      (int)a, (int)i, (ll)x->extent[a], (ll)y->extent[a]);
  }
  return CONVOY_OK;
}

static convoy_status check(int32_t axis, int32_t count, const cvy_shape *inputs,
                           const cvy_shape *y) {
  int64_t together = 0;
  if (count < 1 || count > CVY_MOVE_PARTS)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "concatenate: %d inputs; legal are 1 to %d", (int)count,
                    CVY_MOVE_PARTS);
  if (axis < 0 || axis >= y->dims)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "concatenate: along axis %d of %d", (int)axis,
                    (int)y->dims);
  for (int32_t i = 0; i < count; i++) {
    convoy_status status = check_input(axis, i, &inputs[i], y);
    if (status) return status;
    if (__builtin_add_overflow(together, inputs[i].extent[axis], &together)) together = INT64_MAX;
  }
  if (together == y->extent[axis]) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "concatenate: along axis %d the inputs have %lld, y has %lld",
                  (int)axis, (ll)together, (ll)y->extent[axis]);
}

cvy_move_concatenate *cvy_move_concatenate_begin(int32_t parts, cvy_problem *out) {
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof out->move.concatenate);
  out->operation = CVY_MOVE_CONCATENATE;
  out->move.concatenate.parts = parts;
  return &out->move.concatenate;
}

convoy_status cvy_move_concatenate_make(int32_t axis, int32_t count, const cvy_shape *inputs,
                                        const cvy_shape *y, cvy_problem *out) {
  convoy_status status = check(axis, count, inputs, y);
  if (status) return status;
  cvy_move_concatenate *p = cvy_move_concatenate_begin(count, out);
  p->images = product(y->extent, 0, axis);
  for (int32_t i = 0; i < count; i++) {
    p->width[i] = product(inputs[i].extent, axis, y->dims);
    p->dtype[i] = (int32_t)inputs[i].dtype;
  }
  return CONVOY_OK;
}

/* --------------------------------------------------------------------------------------- row */

static int32_t parts(const cvy_problem *problem) {
  return problem->move.concatenate.parts;
}

static cvy_array part(const cvy_problem *problem, int32_t i) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  return (cvy_array){(convoy_dtype)p->dtype[i], true, {p->images, 1, 1, 1, p->width[i]}, p->x[i]};
}

static int64_t images(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  return cvy_move_concatenate_width(p) ? p->images : 0;
}

static cvy_array whole(const cvy_problem *problem, int32_t i) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  int64_t width = cvy_move_concatenate_width(p);
  (void)i;
  return (cvy_array){CONVOY_FLOAT32, true, {images(problem), 1, 1, 1, width}, p->y};
}

static cvy_batch batch(const cvy_problem *problem) {
  (void)problem;
  return CVY_BATCH_INDEPENDENT;
}

static void set_images(cvy_problem *problem, int64_t count) {
  problem->move.concatenate.images = count;
}

static cvy_element element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                           int64_t index) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  int64_t width = cvy_move_concatenate_width(p), image = index / width, at = index % width;
  int32_t i = 0;
  (void)output;
  for (; at >= p->width[i]; i++) at -= p->width[i];
  double value = (double)cvy_move_value(from->in[i], p->dtype[i],
                                        image * cvy_move_concatenate_x_pitch(p, i) + at);
  return (cvy_element){.value = value, .flushed = value};
}

static int64_t terms(const cvy_problem *problem) {
  (void)problem;
  return 1;
}

static double flops(const cvy_problem *problem) {
  (void)problem;
  return 0.0;
}

/* Slices of y's gradient. */
static convoy_status gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                              cvy_gradient *out) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  int64_t width = cvy_move_concatenate_width(p), at = 0;
  convoy_status status = CONVOY_OK;
  (void)given; /* there is one output */
  for (int32_t i = 0; i < p->parts && !status; at += p->width[i++]) {
    convoy_box box = CONVOY_BOX_INIT(2);
    cvy_gradient_operand from = {CVY_GRADIENT_OF_OUTPUT, 0, 0};
    if (!(wanted >> i & 1)) continue;
    box.offset = at;
    box.extent[0] = box.count[0] = p->images;
    box.extent[1] = box.count[1] = p->width[i];
    box.stride[0] = width;
    box.stride[1] = 1;
    status = cvy_move_add_copy(&box, p->images * width, &from, out);
    out->of[i] = from;
  }
  return status;
}

/* ----------------------------------------------------------------------------------- choice */

bool cvy_move_concatenate_has_fours(const cvy_move_concatenate *p) {
  bool fours = cvy_array_view_takes_fours(&p->y);
  for (int32_t i = 0; i < p->parts; i++)
    fours &= p->width[i] % 4 == 0 && cvy_array_view_takes_fours(&p->x[i]);
  return fours;
}

/* "concatenate_p3_w13_four_typed_apart": inputs, log2 bucket of an image's elements, whether all
 * parts are made of aligned fours, whether some hold integers, and whether operands are parts of
 * larger tensors. */
static void shape_class(const cvy_problem *problem, cvy_text *text) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  bool typed = false, apart = cvy_array_view_is_part(&p->y);
  for (int32_t i = 0; i < p->parts; i++) {
    typed |= p->dtype[i] != CONVOY_FLOAT32;
    apart |= cvy_array_view_is_part(&p->x[i]);
  }
  cvy_text_add(text, "concatenate_p%d_w%d%s%s%s", (int)p->parts,
               cvy_class_bucket(cvy_move_concatenate_width(p)),
               cvy_move_concatenate_has_fours(p) ? "_four" : "", typed ? "_typed" : "",
               apart ? "_apart" : "");
}

static void set_apart(cvy_problem *problem) {
  cvy_move_concatenate *p = &problem->move.concatenate;
  p->settled = 0;
  memset(p->x, 0, sizeof p->x);
  p->y = (cvy_array_view){0, 0};
}

/* ------------------------------------------------------------------------------------ places */

static bool lay(cvy_problem *problem, bool output, int32_t i, const cvy_region *where) {
  cvy_move_concatenate *p = &problem->move.concatenate;
  const cvy_array array = output ? whole(problem, i) : part(problem, i);
  return cvy_region_view(&array, where, output ? &p->y : &p->x[i]);
}

static cvy_kinship kin(const cvy_problem *problem, int32_t input, cvy_region *out) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  int64_t at = 0;
  for (int32_t i = 0; i < input; i++) at += p->width[i];
  *out = (cvy_region){at, p->images, p->width[input], cvy_move_concatenate_width(p)};
  bool any = p->dtype[input] == CONVOY_FLOAT32 && p->images > 0 && p->width[input] > 0;
  return any ? CVY_KIN_IN_RESULT : CVY_KIN_NONE;
}

static void settle(cvy_problem *problem, uint32_t inputs) {
  problem->move.concatenate.settled = (int32_t)inputs;
}

/* ------------------------------------------------------------------------------------- rows */

static const cvy_family family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_move_concatenate),
    .legal = cvy_move_concatenate_legal,
    .images = images,
    .set_images = set_images,
    .element = element,
    .terms = terms,
    .flops = flops,
    .print = cvy_move_concatenate_print,
    .readable = cvy_move_concatenate_readable,
    .parse = cvy_move_concatenate_parse,
    .shape_class = shape_class,
    .set_apart = set_apart,
    .lay = lay,
    .kin = kin,
    .settle = settle,
};

const cvy_operation cvy_move_concatenate_operation = {
    .name = "concatenate",
    .family = &family,
    .input_names = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"},
    .output_names = {"y"},
    .inputs = parts,
    .input = part,
    .output = whole,
    .batch = batch,
    .gradient = gradient,
};
