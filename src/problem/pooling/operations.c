/* The rows of the family. */
#include "problem/pooling/pooling.h"

/* ----------------------------------------------------------------------------------- arrays */

static cvy_array maps(const cvy_problem *problem, const int64_t extent[3], cvy_array_view view) {
  const cvy_pooling_problem *p = &problem->pooling;
  return (cvy_array){CONVOY_FLOAT32, true, {p->n, p->c, extent[0], extent[1], extent[2]}, view};
}

static cvy_array x_array(const cvy_problem *problem, int32_t i) {
  (void)i;
  return maps(problem, problem->pooling.in, problem->pooling.x);
}

static cvy_array dx_array(const cvy_problem *problem, int32_t i) {
  (void)i;
  return maps(problem, problem->pooling.in, problem->pooling.dx);
}

static cvy_array y_array(const cvy_problem *problem, int32_t i) {
  (void)i;
  return maps(problem, problem->pooling.out, problem->pooling.y);
}

static cvy_array x_and_dy(const cvy_problem *problem, int32_t i) {
  return i == 0 ? x_array(problem, i) : y_array(problem, i);
}

/* ------------------------------------------------------------------------------------ batch */

static int64_t images(const cvy_problem *problem) {
  return problem->pooling.n;
}

static void set_images(cvy_problem *problem, int64_t count) {
  problem->pooling.n = count;
}

/* ----------------------------------------------------------------------- work and judgement */

static double bound(const cvy_problem *problem, double magnitude) {
  return cvy_sum_bound(cvy_pooling_summed(problem), magnitude);
}

/* An element of each window is compared or added. */
static double flops(const cvy_problem *problem) {
  const cvy_pooling_problem *p = &problem->pooling;
  return (double)p->n * (double)p->c * (double)cvy_pooling_out_volume(problem) *
         (double)cvy_pooling_taps(problem);
}

/* ----------------------------------------------------------------------------------- choice */

static int64_t largest(const int64_t extent[3]) {
  int64_t most = extent[0];
  for (int axis = 1; axis < 3; axis++) most = extent[axis] > most ? extent[axis] : most;
  return most;
}

/* "max_pool_r2_in0,5,5_k2_s2_dil_pad_ceil_counted_sum": rank; log2 buckets of the input's extents
 * and of the largest of the window's; the largest stride, s3 for all above; then what there is of
 * dilation, padding, windows beyond the padding, padding that counts, adding to what is there, and
 * operands that are parts of larger tensors, with the elements they are aligned to. Batch and
 * channels are left out: they repeat the same work. */
static void shape_class(const cvy_problem *problem, cvy_text *text) {
  const cvy_pooling_problem *p = &problem->pooling;
  int64_t stride = largest(p->stride);
  bool padded = largest(p->pad) > 0 || largest(p->pad_end) > 0;
  cvy_text_add(text, "%s_r%d_in%d,%d,%d_k%d_s%d%s%s%s%s%s", cvy_operation_of(problem)->name,
               (int)p->rank, cvy_class_bucket(p->in[0]), cvy_class_bucket(p->in[1]),
               cvy_class_bucket(p->in[2]), cvy_class_bucket(largest(p->window)),
               (int)(stride > 3 ? 3 : stride), largest(p->dilation) > 1 ? "_dil" : "",
               padded ? "_pad" : "", p->ceil ? "_ceil" : "", p->count_padding ? "_counted" : "",
               problem->accumulate ? "_sum" : "");
  cvy_array_view_class(&p->x, "x", text);
  cvy_array_view_class(&p->y, "y", text);
  cvy_array_view_class(&p->dx, "dx", text);
}

static void set_apart(cvy_problem *problem) {
  cvy_pooling_problem *p = &problem->pooling;
  p->x = p->y = p->dx = (cvy_array_view){0, 0};
}

static bool lay(cvy_problem *problem, bool output, int32_t i, const cvy_region *region) {
  const cvy_operation *row = cvy_operation_of(problem);
  cvy_pooling_problem *p = &problem->pooling;
  const cvy_array whole = output ? row->output(problem, i) : row->input(problem, i);
  bool backward = cvy_pooling_is_backward(problem);
  bool is_x = !output && (!backward || row->given > 1) && i == 0;
  return cvy_region_view(&whole, region, is_x ? &p->x : output && backward ? &p->dx : &p->y);
}

/* The other way, as training has it, on arrays of their own. */
static bool other_way(const cvy_problem *problem, int32_t i, cvy_problem *out) {
  static const int32_t others[] = {
      [CVY_POOLING_MAX] = CVY_POOLING_MAX_BACKWARD,
      [CVY_POOLING_MAX_BACKWARD] = CVY_POOLING_MAX,
      [CVY_POOLING_AVERAGE] = CVY_POOLING_AVERAGE_BACKWARD,
      [CVY_POOLING_AVERAGE_BACKWARD] = CVY_POOLING_AVERAGE,
  };
  if (i > 0) return false;
  cvy_problem_copy(out, problem);
  out->operation = others[problem->operation];
  out->accumulate = 0;
  set_apart(out);
  return true;
}

/* ------------------------------------------------------------------------------------- rows */

static const cvy_family family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_pooling_problem),
    .legal = cvy_pooling_legal,
    .images = images,
    .set_images = set_images,
    .element = cvy_pooling_element,
    .terms = cvy_pooling_terms,
    .flops = flops,
    .print = cvy_pooling_print,
    .parse = cvy_pooling_parse,
    .shape_class = shape_class,
    .set_apart = set_apart,
    .lay = lay,
};

const cvy_operation cvy_pooling_max = {
    .name = "max_pool",
    .family = &family,
    .input_names = {"x"},
    .output_names = {"y"},
    .given = 1,
    .input = x_array,
    .output = y_array,
    .gradient = cvy_pooling_max_gradient,
    .related = other_way,
};

const cvy_operation cvy_pooling_max_backward = {
    .name = "max_pool_backward",
    .family = &family,
    .input_names = {"x", "dy"},
    .output_names = {"dx"},
    .given = 2,
    .input = x_and_dy,
    .output = dx_array,
    .gradient = cvy_pooling_max_backward_gradient,
    .bound = bound,
    .related = other_way,
};

const cvy_operation cvy_pooling_average = {
    .name = "average_pool",
    .family = &family,
    .input_names = {"x"},
    .output_names = {"y"},
    .given = 1,
    .input = x_array,
    .output = y_array,
    .gradient = cvy_pooling_average_gradient,
    .bound = bound,
    .absolute = cvy_problem_itself,
    .related = other_way,
};

const cvy_operation cvy_pooling_average_backward = {
    .name = "average_pool_backward",
    .family = &family,
    .input_names = {"dy"},
    .output_names = {"dx"},
    .given = 1,
    .input = y_array,
    .output = dx_array,
    .gradient = cvy_pooling_average_gradient,
    .bound = bound,
    .absolute = cvy_problem_itself,
    .related = other_way,
};
