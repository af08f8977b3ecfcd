/* The row of copies. */
#include "problem/move/move.h"

/* ----------------------------------------------------------------------------------- arrays */

/* What the images of y are to x. */
typedef enum image_source {
  NO_IMAGES,    /* y has none that were anything to x */
  SAME_FOR_ALL, /* each is made of the same elements */
  EACH_ITS_OWN  /* x has one for each, one behind the other */
} image_source;

/* Whether all that the first image is made of lies in x's first image. */
static bool stays_inside(const cvy_move_copy *p) {
  int64_t first = p->offset, last = first;
  for (int32_t axis = 1; axis < p->axes; axis++) {
    if (p->count[axis] == 0) return true;
    *(p->stride[axis] < 0 ? &first : &last) += p->stride[axis] * (p->count[axis] - 1);
  }
  return first >= 0 && last < p->stride[0];
}

static image_source source_of_images(const cvy_move_copy *p) {
  if (p->extent[0] < 2 || !cvy_move_axis_is_full(p, 0)) return NO_IMAGES;
  if (p->stride[0] == 0) return SAME_FOR_ALL;
  bool apart = p->stride[0] > 0 && p->elements == p->stride[0] * p->extent[0];
  return apart && stays_inside(p) ? EACH_ITS_OWN : NO_IMAGES;
}

static cvy_array x_array(const cvy_problem *problem, int32_t i) {
  const cvy_move_copy *p = &problem->move.copy;
  cvy_array x = {(convoy_dtype)p->dtype, false, {1, 1, 1, 1, p->elements}, {0, 0}};
  (void)i;
  if (source_of_images(p) == EACH_ITS_OWN) {
    x.per_image = true;
    x.extent[0] = p->extent[0];
    x.extent[4] = p->stride[0];
  }
  return x;
}

static int64_t images(const cvy_problem *problem) {
  const cvy_move_copy *p = &problem->move.copy;
  int64_t results = cvy_move_copy_results(p);
  return results == 0 || source_of_images(p) == NO_IMAGES ? results != 0 : p->extent[0];
}

static cvy_array y_array(const cvy_problem *problem, int32_t i) {
  int64_t count = images(problem), results = cvy_move_copy_results(&problem->move.copy);
  (void)i;
  return (cvy_array){CONVOY_FLOAT32, true, {count, 1, 1, 1, count ? results / count : 0}, {0, 0}};
}

/* ------------------------------------------------------------------------------------ batch */

static cvy_batch batch(const cvy_problem *problem) {
  bool has = source_of_images(&problem->move.copy) != NO_IMAGES;
  return has ? CVY_BATCH_INDEPENDENT : CVY_BATCH_COUPLED;
}

static void set_images(cvy_problem *problem, int64_t count) {
  cvy_move_copy *p = &problem->move.copy;
  if (source_of_images(p) == EACH_ITS_OWN) p->elements = p->stride[0] * count;
  p->extent[0] = p->count[0] = count;
  cvy_move_copy_simplify(p);
}

/* ----------------------------------------------------------------------- work and judgement */

/* Where an element of y comes from in x; -1: from nowhere. */
static int64_t find_source(const cvy_move_copy *p, int64_t index) {
  int64_t at = p->offset;
  for (int32_t axis = p->axes - 1; axis >= 0; axis--) {
    int64_t place = index % p->extent[axis] - p->begin[axis];
    index /= p->extent[axis];
    if (place < 0 || place % p->step[axis] != 0 || place / p->step[axis] >= p->count[axis])
      return -1;
    at += place / p->step[axis] * p->stride[axis];
  }
  return at;
}

static cvy_element element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                           int64_t index) {
  const cvy_move_copy *p = &problem->move.copy;
  int64_t at = find_source(p, index);
  double value = at < 0 ? (double)p->fill : (double)cvy_move_value(from->in[0], p->dtype, at);
  (void)output;
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

/* ----------------------------------------------------------------------------------- choice */

/* What the elements of a row of y are in x: neighbours, one, turned round, apart. */
static char row_source(int64_t stride) {
  if (stride == 1) return 'n';
  if (stride == 0) return 'o';
  return stride < 0 ? 't' : 'a';
}

static bool any_steps(const cvy_move_copy *p) {
  for (int32_t axis = 0; axis < p->axes; axis++)
    if (p->step[axis] > 1) return true;
  return false;
}

/* "copy_a3_n_e5,3,7_u_filled_stepped": axes; what a row is of; log2 buckets of the last three
 * extents, from the innermost on; u or i for integers; then whether there is something around or
 * between. Of more axes the others repeat the same work. */
static void shape_class(const cvy_problem *problem, cvy_text *text) {
  static const char *const types[CONVOY_DTYPES] = {
      [CONVOY_FLOAT32] = "", [CONVOY_INT32] = "_i", [CONVOY_UINT8] = "_u"};
  const cvy_move_copy *p = &problem->move.copy;
  int32_t last = p->axes - 1;
  cvy_text_add(text, "copy_a%d_%c_e%d", (int)p->axes, row_source(p->stride[last]),
               cvy_class_bucket(p->extent[last]));
  for (int32_t axis = last - 1; axis >= 0 && axis > last - 3; axis--)
    cvy_text_add(text, ",%d", cvy_class_bucket(p->extent[axis]));
  cvy_text_add(text, "%s%s%s", types[p->dtype], cvy_move_copy_is_full(p) ? "" : "_filled",
               any_steps(p) ? "_stepped" : "");
}

/* ------------------------------------------------------------------------------------ places */

/* A slice of stretches that lie as y's images do. */
static cvy_kinship kin(const cvy_problem *problem, int32_t input, cvy_region *out) {
  const cvy_move_copy *p = &problem->move.copy;
  int32_t last = p->axes - 1;
  (void)input;
  bool slice = p->axes <= 2 && cvy_move_copy_is_full(p) && p->dtype == CONVOY_FLOAT32 &&
               cvy_move_copy_results(p) > 0;
  if (!slice || (p->extent[last] > 1 && p->stride[last] != 1)) return CVY_KIN_NONE;
  *out = (cvy_region){p->offset, 1, p->extent[last], p->extent[last]};
  if (p->axes == 1 || p->extent[0] == 1) return CVY_KIN_HAS_RESULT;
  out->images = p->extent[0];
  out->pitch = p->stride[0];
  bool inside = out->pitch > 0 && p->elements == out->pitch * out->images &&
                out->at + out->width <= out->pitch;
  return inside ? CVY_KIN_HAS_RESULT : CVY_KIN_NONE;
}

/* -------------------------------------------------------------------------------------- row */

static const cvy_family family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_move_copy),
    .legal = cvy_move_copy_legal,
    .images = images,
    .set_images = set_images,
    .element = element,
    .terms = terms,
    .flops = flops,
    .print = cvy_move_copy_print,
    .readable = cvy_move_copy_readable,
    .parse = cvy_move_copy_parse,
    .shape_class = shape_class,
    .kin = kin,
};

const cvy_operation cvy_move_copy_operation = {
    .name = "copy",
    .family = &family,
    .input_names = {"x"},
    .output_names = {"y"},
    .given = 1,
    .input = x_array,
    .output = y_array,
    .batch = batch,
    .gradient = cvy_move_copy_gradient,
};
