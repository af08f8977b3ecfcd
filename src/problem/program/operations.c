/* The two rows of the family. */
#include <string.h>

#include "problem/program/program.h"

const cvy_program_problem *cvy_program_part(const cvy_problem *problem) {
  return problem->operation == CVY_REDUCE ? &problem->reduce.of : &problem->program;
}

/* ----------------------------------------------------------------------------------- arrays */

static int32_t inputs(const cvy_problem *problem) {
  return cvy_program_part(problem)->program.inputs;
}

static int32_t program_outputs(const cvy_problem *problem) {
  return problem->program.program.results;
}

static int32_t reduce_outputs(const cvy_problem *problem) {
  return problem->reduce.how.results;
}

/* Elements of an operand that one image reaches. */
static int64_t reach_of_image(const cvy_program_problem *of, const cvy_program_view *view) {
  int64_t extent[CVY_PROGRAM_AXES];
  memcpy(extent, of->extent, sizeof extent);
  extent[0] = 1;
  return cvy_program_reach(view, extent);
}

/* How the images of an operand lie that has `image` elements for each. */
static cvy_array_view view_of(const cvy_program_view *view, int64_t image) {
  int64_t pitch = view->stride[0];
  return pitch && pitch != image ? (cvy_array_view){pitch, 0} : (cvy_array_view){0, 0};
}

/* Whether each image has elements of its own of every operand that steps from image to image, which
 * lie before the next image's, and nothing else that is computed depends on which image it is. */
static bool images_are_apart(const cvy_program_problem *of) {
  cvy_program_uses uses = cvy_program_uses_of(&of->program);
  if (of->extent[0] < 2 || uses.random || (uses.axes & 1)) return false;
  for (int i = 0; i < of->program.inputs; i++) {
    const cvy_program_view *view = &of->input[i];
    if (view->stride[0] && view->stride[0] < reach_of_image(of, view)) return false;
  }
  return true;
}

static cvy_batch program_batch(const cvy_problem *problem) {
  return images_are_apart(&problem->program) ? CVY_BATCH_INDEPENDENT : CVY_BATCH_COUPLED;
}

/* Sums over images are never put together of parts: that would be another order. */
static cvy_batch reduce_batch(const cvy_problem *problem) {
  bool apart = !(problem->reduce.how.axes & 1) && images_are_apart(&problem->reduce.of);
  return apart ? CVY_BATCH_INDEPENDENT : CVY_BATCH_COUPLED;
}

static bool is_apart(const cvy_problem *problem) {
  return cvy_problem_batch(problem) == CVY_BATCH_INDEPENDENT;
}

static cvy_array input(const cvy_problem *problem, int32_t i) {
  const cvy_program_problem *of = cvy_program_part(problem);
  const cvy_program_view *view = &of->input[i];
  bool per_image = view->stride[0] && is_apart(problem);
  cvy_array array = {(convoy_dtype)view->type, per_image, {1, 1, 1, 1, 1}, {0, 0}};
  array.extent[0] = per_image ? of->extent[0] : 1;
  array.extent[4] = per_image ? reach_of_image(of, view) : cvy_program_reach(view, of->extent);
  if (per_image) array.view = view_of(view, array.extent[4]);
  return array;
}

static int64_t image_count(const int64_t *extent) {
  int64_t count = 1;
  for (int axis = 1; axis < CVY_PROGRAM_AXES; axis++) count *= extent[axis];
  return count;
}

static cvy_array program_output(const cvy_problem *problem, int32_t i) {
  const cvy_program_problem *of = &problem->program;
  cvy_array array = {.dtype = CONVOY_FLOAT32, .per_image = is_apart(problem)};
  memcpy(array.extent, of->extent, sizeof array.extent);
  array.view = view_of(&of->result[i], image_count(of->extent));
  return array;
}

static cvy_array reduce_output(const cvy_problem *problem, int32_t i) {
  cvy_array array = {.dtype = CONVOY_FLOAT32, .per_image = is_apart(problem)};
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
    bool reduced = problem->reduce.how.axes >> axis & 1;
    array.extent[axis] = reduced ? 1 : problem->reduce.of.extent[axis];
  }
  array.view = view_of(&problem->reduce.of.result[i], image_count(array.extent));
  return array;
}

/* ------------------------------------------------------------------------------------ batch */

static int64_t program_images(const cvy_problem *problem) {
  if (cvy_program_count(problem->program.extent) == 0) return 0;
  return is_apart(problem) ? problem->program.extent[0] : 1;
}

/* Of no elements there are results, as long as there are places for them. */
static int64_t reduce_images(const cvy_problem *problem) {
  const cvy_reduce_problem *reduce = &problem->reduce;
  if (cvy_reduce_kept(reduce->of.extent, reduce->how.axes) == 0) return 0;
  return is_apart(problem) ? reduce->of.extent[0] : 1;
}

/* A stride along one image is none. */
static void set_extent(cvy_program_problem *of, int results, int64_t count) {
  of->extent[0] = count;
  if (count > 1) return;
  for (int i = 0; i < of->program.inputs; i++) of->input[i].stride[0] = 0;
  for (int k = 0; k < results; k++) of->result[k].stride[0] = 0;
}

static void set_program_images(cvy_problem *problem, int64_t count) {
  set_extent(&problem->program, problem->program.program.results, count);
}

/* With the pieces they had: results stay the same to the bit. */
static void set_reduce_images(cvy_problem *problem, int64_t count) {
  set_extent(&problem->reduce.of, problem->reduce.how.results, count);
}

/* --------------------------------------------------------------------------------- legality */

/* No gaps but between images: only there can the images of others lie. */
static bool images_are_dense(const cvy_program_view *view, const int64_t *extent) {
  cvy_program_view full = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, extent);
  if (view->stride[0] > full.stride[0]) full.stride[0] = view->stride[0];
  return memcmp(full.stride, view->stride, sizeof full.stride) == 0;
}

static convoy_status check_dense(const cvy_problem *problem, const cvy_program_problem *of,
                                 int results) {
  cvy_array whole = cvy_operation_of(problem)->output(problem, 0);
  for (int k = 0; k < results; k++) {
    if (images_are_dense(&of->result[k], whole.extent)) continue;
    return cvy_fail(CONVOY_ERR_ARGUMENT, "program: the images of result %d are not dense", k);
  }
  return CONVOY_OK;
}

static convoy_status check_program(const cvy_problem *problem) {
  convoy_status status = cvy_program_problem_check(&problem->program);
  if (status) return status;
  return check_dense(problem, &problem->program, problem->program.program.results);
}

static convoy_status check_reduce(const cvy_problem *problem) {
  convoy_status status = cvy_reduce_problem_check(&problem->reduce);
  if (status) return status;
  return check_dense(problem, &problem->reduce.of, problem->reduce.how.results);
}

static bool program_legal(const cvy_problem *problem) {
  return !problem->accumulate && check_program(problem) == CONVOY_OK;
}

static bool reduce_legal(const cvy_problem *problem) {
  return !problem->accumulate && check_reduce(problem) == CONVOY_OK;
}

convoy_status cvy_program_make(const cvy_program_problem *from, cvy_problem *out) {
  out->operation = CVY_PROGRAM;
  out->accumulate = 0;
  out->program = *from;
  return check_program(out);
}

convoy_status cvy_reduce_make(const cvy_reduce_problem *from, cvy_problem *out) {
  out->operation = CVY_REDUCE;
  out->accumulate = 0;
  out->reduce = *from;
  return check_reduce(out);
}

/* ----------------------------------------------------------------------- work and judgement */

static void find_inputs(const cvy_problem *problem, const cvy_values *from, const void **in) {
  for (int32_t i = 0; i < inputs(problem); i++) in[i] = from->in[i];
}

static cvy_element program_element(const cvy_problem *problem, const cvy_values *from,
                                   int32_t output, int64_t index) {
  const void *in[CVY_PROGRAM_INPUTS];
  float results[CVY_PROGRAM_RESULTS], flushed[CVY_PROGRAM_RESULTS];
  find_inputs(problem, from, in);
  cvy_program_problem_element(&problem->program, in, index, results, flushed);
  return (cvy_element){.value = (double)results[output], .flushed = (double)flushed[output]};
}

static cvy_element reduce_element(const cvy_problem *problem, const cvy_values *from,
                                  int32_t output, int64_t index) {
  const void *in[CVY_PROGRAM_INPUTS];
  cvy_reduced results[CVY_PROGRAM_RESULTS];
  find_inputs(problem, from, in);
  cvy_reduce_element64(&problem->reduce, in, index, results);
  const cvy_reduced *one = &results[output];
  return (cvy_element){.value = one->value, .magnitude = one->magnitude, .flushed = one->flushed};
}

static int64_t work_of(const cvy_program_problem *of) {
  return 1 + cvy_program_uses_of(&of->program).work;
}

static int64_t program_terms(const cvy_problem *problem) {
  return work_of(&problem->program);
}

static int64_t reduce_terms(const cvy_problem *problem) {
  const cvy_reduce_problem *reduce = &problem->reduce;
  int64_t length = cvy_reduce_length(reduce->of.extent, reduce->how.axes);
  return 1 + length * cvy_reduce_problem_work(reduce);
}

static double reduce_bound(const cvy_problem *problem, double magnitude) {
  return cvy_reduce_bound(&problem->reduce, magnitude);
}

/* What only moves counts as one operation for each element. */
static double program_flops(const cvy_problem *problem) {
  return (double)cvy_program_count(problem->program.extent) * (double)work_of(&problem->program);
}

static double reduce_flops(const cvy_problem *problem) {
  return cvy_reduce_problem_flops(&problem->reduce);
}

/* ----------------------------------------------------------------------------------- choice */

/* Inputs stay as they are: which part of an array is read is what the program does. */
static void set_apart(cvy_problem *problem) {
  const cvy_operation *row = cvy_operation_of(problem);
  cvy_program_problem *of =
      problem->operation == CVY_REDUCE ? &problem->reduce.of : &problem->program;
  for (int k = 0; k < cvy_problem_outputs(problem); k++) {
    const cvy_array whole = row->output(problem, k);
    of->result[k] = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, whole.extent);
  }
}

/* Which random numbers they are changes nothing. */
static void bare(const cvy_problem *problem, cvy_problem *out) {
  cvy_problem_copy(out, problem);
  cvy_program_problem *of = problem->operation == CVY_REDUCE ? &out->reduce.of : &out->program;
  of->seed = of->run = of->node = 0;
}

static void set_run(cvy_problem *problem, uint64_t run) {
  cvy_program_problem *of =
      problem->operation == CVY_REDUCE ? &problem->reduce.of : &problem->program;
  if (cvy_program_uses_of(&of->program).random) of->run = run;
}

/* ------------------------------------------------------------------------------------- rows */

static const cvy_family program_family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_program_problem),
    .legal = program_legal,
    .images = program_images,
    .set_images = set_program_images,
    .element = program_element,
    .terms = program_terms,
    .flops = program_flops,
    .excerpt = cvy_program_excerpt,
    .fuse = cvy_program_fuse,
    .print = cvy_program_print,
    .readable = cvy_program_readable,
    .parse = cvy_program_read,
    .shape_class = cvy_program_shape_class,
    .set_run = set_run,
    .set_apart = set_apart,
    .lay = cvy_program_lay,
    .bare = bare,
};

const cvy_operation cvy_program_operation = {
    .name = "program",
    .family = &program_family,
    .input_names = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"},
    .output_names = {"y0", "y1", "y2", "y3"},
    .inputs = inputs,
    .outputs = program_outputs,
    .input = input,
    .output = program_output,
    .batch = program_batch,
    .gradient = cvy_program_gradient_steps,
    .begins_anywhere = true,
};

static const cvy_family reduce_family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_reduce_problem),
    .legal = reduce_legal,
    .images = reduce_images,
    .set_images = set_reduce_images,
    .element = reduce_element,
    .terms = reduce_terms,
    .flops = reduce_flops,
    .excerpt = cvy_program_excerpt,
    .fuse = cvy_program_fuse,
    .print = cvy_program_print,
    .readable = cvy_program_readable,
    .shape_class = cvy_program_shape_class,
    .set_run = set_run,
    .set_apart = set_apart,
    .lay = cvy_program_lay,
    .bare = bare,
};

const cvy_operation cvy_reduce_operation = {
    .name = "reduce",
    .family = &reduce_family,
    .input_names = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"},
    .output_names = {"y0", "y1", "y2", "y3"},
    .inputs = inputs,
    .outputs = reduce_outputs,
    .input = input,
    .output = reduce_output,
    .batch = reduce_batch,
    .bound = reduce_bound,
    .gradient = cvy_reduce_gradient_steps,
    .begins_anywhere = true,
};
