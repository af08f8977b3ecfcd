/* The rows of the family. */
#include "problem/resampling/resampling.h"

/* ----------------------------------------------------------------------------------- arrays */

static cvy_array maps(const cvy_problem *problem, const int64_t extent[3], cvy_array_view view) {
  const cvy_resampling_problem *p = &problem->resampling;
  return (cvy_array){CONVOY_FLOAT32, true, {p->n, p->c, extent[0], extent[1], extent[2]}, view};
}

static cvy_array x_array(const cvy_problem *problem, int32_t i) {
  (void)i;
  return maps(problem, problem->resampling.in, problem->resampling.x);
}

static cvy_array y_array(const cvy_problem *problem, int32_t i) {
  (void)i;
  return maps(problem, problem->resampling.out, problem->resampling.y);
}

/* ------------------------------------------------------------------------------------ batch */

static int64_t images(const cvy_problem *problem) {
  return problem->resampling.n;
}

static void set_images(cvy_problem *problem, int64_t count) {
  problem->resampling.n = count;
}

/* ----------------------------------------------------------------------- work and judgement */

static double bound(const cvy_problem *problem, double magnitude) {
  return cvy_sum_bound(cvy_resampling_terms(problem), magnitude);
}

/* Each element of y and its corners are multiplied and added. */
static double flops(const cvy_problem *problem) {
  const cvy_resampling_problem *p = &problem->resampling;
  double corners = cvy_resampling_is_linear(problem) ? (double)(2 << p->rank) : 1.0;
  return (double)p->n * (double)p->c * (double)cvy_resampling_out_volume(problem) * corners;
}

/* --------------------------------------------------------------------------------- gradient */

static const int32_t others[] = {
    [CVY_RESAMPLING_NEAREST] = CVY_RESAMPLING_NEAREST_BACKWARD,
    [CVY_RESAMPLING_NEAREST_BACKWARD] = CVY_RESAMPLING_NEAREST,
    [CVY_RESAMPLING_LINEAR] = CVY_RESAMPLING_LINEAR_BACKWARD,
    [CVY_RESAMPLING_LINEAR_BACKWARD] = CVY_RESAMPLING_LINEAR,
};

static convoy_status gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                              cvy_gradient *out) {
  cvy_gradient_step *step = cvy_gradient_add(out);
  (void)wanted, (void)given; /* there is one of each */
  cvy_problem_copy(&step->problem, problem);
  step->problem.operation = others[problem->operation];
  step->in[0] = (cvy_gradient_operand){CVY_GRADIENT_OF_OUTPUT, 0, 0};
  out->of[0] = cvy_gradient_result(out, 0);
  return CONVOY_OK;
}

/* ----------------------------------------------------------------------------------- choice */

static bool any_unusual(const cvy_resampling_problem *p) {
  for (int axis = 0; axis < 3; axis++)
    if (p->step[axis] != cvy_resampling_usual_step(p->mode, p->in[axis], p->out[axis])) return true;
  return false;
}

/* "resample_nearest_r2_in0,5,5_out0,6,6_exact_double": rank; log2 buckets of both sides' extents;
 * the way that positions are found; whether each row is doubled, and whether rows are made of
 * fours. Batch and channels are left out: they repeat the same work. */
static void shape_class(const cvy_problem *problem, cvy_text *text) {
  static const char *const modes[CONVOY_INTERPOLATIONS] = {
      [CONVOY_NEAREST_EXACT] = "_exact", [CONVOY_LINEAR_ALIGNED] = "_aligned"};
  const cvy_resampling_problem *p = &problem->resampling;
  cvy_text_add(text, "%s_r%d_in%d,%d,%d_out%d,%d,%d%s%s%s%s", cvy_operation_of(problem)->name,
               (int)p->rank, cvy_class_bucket(p->in[0]), cvy_class_bucket(p->in[1]),
               cvy_class_bucket(p->in[2]), cvy_class_bucket(p->out[0]), cvy_class_bucket(p->out[1]),
               cvy_class_bucket(p->out[2]), modes[p->mode] ? modes[p->mode] : "",
               cvy_resampling_doubles(problem, 2) ? "_double" : "", p->out[2] % 4 ? "" : "_four",
               any_unusual(p) ? "_scaled" : "");
  cvy_array_view_class(&p->x, "x", text);
  cvy_array_view_class(&p->y, "y", text);
}

static bool lay(cvy_problem *problem, bool output, int32_t i, const cvy_region *region) {
  bool is_x = output == cvy_resampling_is_backward(problem);
  const cvy_array whole = is_x ? x_array(problem, i) : y_array(problem, i);
  return cvy_region_view(&whole, region, is_x ? &problem->resampling.x : &problem->resampling.y);
}

/* The other way, as training has it, on arrays of their own. */
static bool other_way(const cvy_problem *problem, int32_t i, cvy_problem *out) {
  if (i > 0) return false;
  cvy_problem_copy(out, problem);
  out->operation = others[problem->operation];
  cvy_resampling_set_apart(out);
  return true;
}

/* ------------------------------------------------------------------------------------- rows */

static const cvy_family family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_resampling_problem),
    .legal = cvy_resampling_legal,
    .images = images,
    .set_images = set_images,
    .element = cvy_resampling_element,
    .terms = cvy_resampling_terms,
    .flops = flops,
    .print = cvy_resampling_print,
    .parse = cvy_resampling_parse,
    .shape_class = shape_class,
    .set_apart = cvy_resampling_set_apart,
    .lay = lay,
};

const cvy_operation cvy_resampling_nearest = {
    .name = "resample_nearest",
    .family = &family,
    .input_names = {"x"},
    .output_names = {"y"},
    .given = 1,
    .input = x_array,
    .output = y_array,
    .gradient = gradient,
    .related = other_way,
};

const cvy_operation cvy_resampling_nearest_backward = {
    .name = "resample_nearest_backward",
    .family = &family,
    .input_names = {"dy"},
    .output_names = {"dx"},
    .given = 1,
    .input = y_array,
    .output = x_array,
    .gradient = gradient,
    .bound = bound,
    .absolute = cvy_problem_itself,
    .related = other_way,
};

const cvy_operation cvy_resampling_linear = {
    .name = "resample_linear",
    .family = &family,
    .input_names = {"x"},
    .output_names = {"y"},
    .given = 1,
    .input = x_array,
    .output = y_array,
    .gradient = gradient,
    .bound = bound,
    .absolute = cvy_problem_itself,
    .related = other_way,
};

const cvy_operation cvy_resampling_linear_backward = {
    .name = "resample_linear_backward",
    .family = &family,
    .input_names = {"dy"},
    .output_names = {"dx"},
    .given = 1,
    .input = y_array,
    .output = x_array,
    .gradient = gradient,
    .bound = bound,
    .absolute = cvy_problem_itself,
    .related = other_way,
};
