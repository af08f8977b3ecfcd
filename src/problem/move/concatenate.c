/* Concatenation: from the shapes of operands to a problem, its row, and its text. */
#include "problem/axes_text.h"
#include "problem/move/move.h"

typedef long long ll;

static const char *const types[CONVOY_DTYPES] = {
    [CONVOY_FLOAT32] = "", [CONVOY_INT32] = ":int32", [CONVOY_UINT8] = ":uint8"};

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
  }
  return true;
}

/* Whether the bytes of y fit int64_t, and an image's too where there is none. */
static bool results_fit(const cvy_move_concatenate *p) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < p->parts; i++)
    if (__builtin_add_overflow(bytes, p->width[i], &bytes)) return false;
  return !__builtin_mul_overflow(bytes, (int64_t)sizeof(float), &bytes) &&
         !__builtin_mul_overflow(bytes, p->images, &bytes);
}

static bool legal(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  if (problem->accumulate || p->parts < 1 || p->parts > CVY_MOVE_PARTS || p->reserved) return false;
  return p->images >= 0 && parts_legal(p) && results_fit(p);
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

static cvy_move_concatenate *begin(int32_t parts, cvy_problem *out) {
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof out->move.concatenate);
  out->operation = CVY_MOVE_CONCATENATE;
  out->move.concatenate.parts = parts;
  return &out->move.concatenate;
}

convoy_status cvy_move_concatenate_make(int32_t axis, int32_t count, const cvy_shape *inputs,
                                        const cvy_shape *y, cvy_problem *out) {
  convoy_status status = check(axis, count, inputs, y);
  if (status) return status;
  cvy_move_concatenate *p = begin(count, out);
  p->images = product(y->extent, 0, axis);
  for (int32_t i = 0; i < count; i++) {
    p->width[i] = product(inputs[i].extent, axis, y->dims);
    p->dtype[i] = (int32_t)inputs[i].dtype;
  }
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------------- text */

static void print(const cvy_problem *problem, char *text, size_t size) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  cvy_text to = cvy_text_in(text, size);
  cvy_text_add(&to, "concatenate n%lld ", (ll)p->images);
  for (int32_t i = 0; i < p->parts; i++)
    cvy_text_add(&to, "%s%lld%s", i ? "," : "w", (ll)p->width[i], types[p->dtype[i]]);
}

static int32_t read_type(cvy_reader *r) {
  for (int32_t type = CONVOY_DTYPES - 1; type > 0; type--)
    if (cvy_read_word(r, types[type])) return type;
  return CONVOY_FLOAT32;
}

convoy_status cvy_move_concatenate_read(const char *text, cvy_problem *out) {
  cvy_reader r = {text, text, NULL};
  cvy_move_concatenate *p = begin(0, out);
  p->images = cvy_read_lettered(&r, "concatenate n", "concatenate n");
  cvy_read_expected(&r, cvy_read_word(&r, " w"), " w");
  do {
    if (!cvy_read_expected(&r, p->parts < CVY_MOVE_PARTS, "no more than 12 widths")) break;
    p->width[p->parts] = cvy_read_number(&r);
    p->dtype[p->parts++] = read_type(&r);
  } while (cvy_read_word(&r, ","));
  cvy_read_expected(&r, !*r.at, "a comma, :int32, :uint8 or the end");
  if (r.fault) return cvy_read_failed(&r);
  if (legal(out)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "concatenate: the bytes of y overflow int64");
}

static bool parse(const char *text, cvy_problem *out) {
  return cvy_move_concatenate_read(text, out) == CONVOY_OK;
}

/* --------------------------------------------------------------------------------------- row */

static int32_t parts(const cvy_problem *problem) {
  return problem->move.concatenate.parts;
}

static cvy_array part(const cvy_problem *problem, int32_t i) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  return (cvy_array){(convoy_dtype)p->dtype[i], true, {p->images, 1, 1, 1, p->width[i]}};
}

static int64_t images(const cvy_problem *problem) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  return cvy_move_concatenate_width(p) ? p->images : 0;
}

static cvy_array whole(const cvy_problem *problem, int32_t i) {
  int64_t width = cvy_move_concatenate_width(&problem->move.concatenate);
  (void)i;
  return (cvy_array){CONVOY_FLOAT32, true, {images(problem), 1, 1, 1, width}};
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
  double value = (double)cvy_move_value(from->in[i], p->dtype[i], image * p->width[i] + at);
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

/* "concatenate_p3_w13_four_typed": inputs, log2 bucket of an image's elements, whether all parts
 * are made of aligned fours, and whether some hold integers. */
static void shape_class(const cvy_problem *problem, cvy_text *text) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  bool fours = true, typed = false;
  for (int32_t i = 0; i < p->parts; i++) {
    fours &= p->width[i] % 4 == 0;
    typed |= p->dtype[i] != CONVOY_FLOAT32;
  }
  cvy_text_add(text, "concatenate_p%d_w%d%s%s", (int)p->parts,
               cvy_class_bucket(cvy_move_concatenate_width(p)), fours ? "_four" : "",
               typed ? "_typed" : "");
}

const cvy_operation cvy_move_concatenate_operation = {
    .name = "concatenate",
    .input_names = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"},
    .output_names = {"y"},
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_move_concatenate),
    .inputs = parts,
    .input = part,
    .output = whole,
    .legal = legal,
    .batch = batch,
    .images = images,
    .set_images = set_images,
    .element = element,
    .terms = terms,
    .gradient = gradient,
    .flops = flops,
    .print = print,
    .parse = parse,
    .shape_class = shape_class,
};
