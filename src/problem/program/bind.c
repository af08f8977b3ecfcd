/* Shapes of arrays become an index space and views of it. */
#include "problem/program/bind.h"

#include <string.h>

#include "program/named.h"

enum { AXES = CVY_PROGRAM_AXES };
/* Which axis the extents of an array of so many dimensions are along. */
static const int8_t axes_of_dims[CONVOY_MAX_DIMS + 1][CONVOY_MAX_DIMS] = {
    [1] = {1}, [2] = {0, 1}, [3] = {0, 1, 4}, [4] = {0, 1, 3, 4}, [5] = {0, 1, 2, 3, 4}};

typedef struct operand {
  const char *name;
  const cvy_shape *shape;
  int64_t extent[AXES];
} operand;

static operand operand_of(const char *name, const cvy_shape *shape) {
  operand of = {name, shape, {1, 1, 1, 1, 1}};
  for (int i = 0; i < shape->dims; i++) of.extent[axes_of_dims[shape->dims][i]] = shape->extent[i];
  return of;
}

static bool same_extents(const int64_t *a, const int64_t *b) {
  return memcmp(a, b, AXES * sizeof *a) == 0;
}

const char *cvy_program_text_of(const char *name) {
  const cvy_named_program *named = cvy_named_find(name);
  return named ? named->text : NULL;
}

const char *cvy_program_name_at(int32_t i) {
  return i >= 0 && i < cvy_named_count ? cvy_named_programs[i].name : NULL;
}

int32_t cvy_program_results(const convoy_program *program) {
  return program->how.axes ? program->how.results : program->program.results;
}

/* ------------------------------------------------------------------------------ index space */

/* Extents that are not 1 have to be the same. `by` names the operand that each came from. */
static convoy_status widen(const operand *with, int64_t *space, const char **by) {
  for (int axis = 0; axis < AXES; axis++) {
    int64_t extent = with->extent[axis];
    if (extent == 1 || extent == space[axis]) continue;
    if (space[axis] != 1) {
      return cvy_fail(CONVOY_ERR_SHAPE, "%s has extent %lld along %c, %s has %lld", with->name,
                      (long long)extent, cvy_axis_letters[axis], by[axis], (long long)space[axis]);
    }
    space[axis] = extent;
    by[axis] = with->name;
  }
  return CONVOY_OK;
}

static convoy_status space_of_inputs(const convoy_program *program, const operand *inputs,
                                     int64_t *space) {
  const char *by[AXES] = {"", "", "", "", ""};
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < program->program.inputs && !status; i++)
    status = widen(&inputs[i], space, by);
  return status;
}

static convoy_status space_of_results(const convoy_program *program, const operand *results,
                                      int64_t *space) {
  memcpy(space, results[0].extent, sizeof results[0].extent);
  for (int k = 1; k < program->program.results; k++) {
    if (same_extents(results[k].extent, space)) continue;
    return cvy_fail(CONVOY_ERR_SHAPE, "%s and %s have not the same extents", results[k].name,
                    results[0].name);
  }
  return CONVOY_OK;
}

/* --------------------------------------------------------------------------------- operands */

static convoy_status view_of(const operand *from, const int64_t *space, cvy_program_view *out) {
  int64_t stride = 1;
  *out = (cvy_program_view){.type = from->shape->dtype};
  for (int axis = AXES - 1; axis >= 0; axis--) {
    int64_t extent = from->extent[axis];
    if (extent != 1 && extent != space[axis]) {
      return cvy_fail(CONVOY_ERR_SHAPE, "%s has extent %lld along %c, the results have %lld",
                      from->name, (long long)extent, cvy_axis_letters[axis],
                      (long long)space[axis]);
    }
    if (extent > 1) out->stride[axis] = stride;
    stride *= extent;
  }
  return CONVOY_OK;
}

static convoy_status bind_inputs(const convoy_program *program, const operand *inputs,
                                 cvy_program_problem *of) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < program->program.inputs && !status; i++)
    status = view_of(&inputs[i], of->extent, &of->input[i]);
  return status;
}

/* With or without the extents of 1 that reduced axes leave. */
static bool is_of_extents(const operand *result, const int64_t *kept) {
  int64_t extents[2][AXES] = {{0}};
  for (int side = 0; side < 2; side++) {
    const int64_t *from = side ? kept : result->extent;
    for (int axis = 0, count = 0; axis < AXES; axis++)
      if (from[axis] != 1) extents[side][count++] = from[axis] + 1;
  }
  return same_extents(extents[0], extents[1]);
}

static convoy_status check_reduced(const convoy_program *program, const operand *results,
                                   const int64_t *space) {
  int64_t kept[AXES];
  for (int axis = 0; axis < AXES; axis++)
    kept[axis] = (program->how.axes >> axis & 1) ? 1 : space[axis];
  for (int k = 0; k < program->how.results; k++) {
    if (is_of_extents(&results[k], kept)) continue;
    return cvy_fail(CONVOY_ERR_SHAPE, "%s has not the extents n%lld c%lld z%lld h%lld w%lld",
                    results[k].name, (long long)kept[0], (long long)kept[1], (long long)kept[2],
                    (long long)kept[3], (long long)kept[4]);
  }
  return CONVOY_OK;
}

static convoy_status bind_program(const convoy_program *program, const operand *inputs,
                                  const operand *results, cvy_problem *out) {
  cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  int64_t space[AXES];
  convoy_status status = space_of_results(program, results, space);
  if (!status) status = cvy_program_check_extents(space);
  if (status) return status;
  cvy_program_problem_init(&program->program, space, full, &out->program);
  status = bind_inputs(program, inputs, &out->program);
  return status ? status : cvy_program_make(&out->program, out);
}

static convoy_status bind_reduction(const convoy_program *program, const operand *inputs,
                                    const operand *results, cvy_problem *out) {
  cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  int64_t space[AXES] = {1, 1, 1, 1, 1};
  convoy_status status = space_of_inputs(program, inputs, space);
  if (!status) status = cvy_program_check_extents(space);
  if (!status) status = check_reduced(program, results, space);
  if (status) return status;
  cvy_reduce_problem_init(&program->program, &program->how, space, full, &out->reduce);
  status = bind_inputs(program, inputs, &out->reduce.of);
  return status ? status : cvy_reduce_make(&out->reduce, out);
}

convoy_status cvy_program_bind(const convoy_program *program, const cvy_shape *inputs,
                               const cvy_shape *outputs, cvy_problem *out) {
  operand in[CVY_PROGRAM_INPUTS] = {{0}}, results[CVY_PROGRAM_RESULTS] = {{0}};
  for (int i = 0; i < program->program.inputs; i++)
    in[i] = operand_of(program->names.input[i], &inputs[i]);
  for (int k = 0; k < cvy_program_results(program); k++) {
    results[k] = operand_of(program->names.result[k], &outputs[k]);
    if (outputs[k].dtype != CONVOY_FLOAT32)
      return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is not float32, as all results are",
                      program->names.result[k]);
  }
  memset(out, 0, sizeof *out);
  return program->how.axes ? bind_reduction(program, in, results, out)
                           : bind_program(program, in, results, out);
}

/* ------------------------------------------------------------------------------------- text */

/* Along an axis that it does not go along an array has one place. */
static cvy_shape shape_of(const cvy_program_view *view, const int64_t *space) {
  cvy_shape shape = {.dtype = (convoy_dtype)view->type, .dims = AXES};
  for (int axis = 0; axis < AXES; axis++)
    shape.extent[axis] = space[axis] > 1 && !view->stride[axis] ? 1 : space[axis];
  return shape;
}

static void find_shapes(const cvy_problem *problem, cvy_shape *operands) {
  const cvy_program_problem *of = cvy_program_part(problem);
  int results = cvy_problem_outputs(problem);
  for (int i = 0; i < of->program.inputs; i++) *operands++ = shape_of(&of->input[i], of->extent);
  for (int k = 0; k < results; k++) *operands++ = shape_of(&of->result[k], of->extent);
}

/* Making the problem again from its arrays finds all that no arrays have. */
static convoy_status check_arrays(const convoy_program *program, const cvy_shape *operands,
                                  const cvy_problem *problem) {
  cvy_problem again = {.operation = -1};
  const cvy_shape *results = operands + program->program.inputs;
  convoy_status status = cvy_program_bind(program, operands, results, &again);
  bool nothing = cvy_problem_empty(problem); /* whatever its strides are */
  if (status || nothing || cvy_problem_equal(problem, &again)) return status;
  return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                  "no tensors make this problem: it has strides or pieces of its own");
}

convoy_status cvy_program_bind_text(const char *text, convoy_program *out, cvy_shape *operands) {
  cvy_problem problem;
  convoy_status status = cvy_program_read_named(text, &problem, &out->names);
  if (status) return status;
  out->program = cvy_program_part(&problem)->program;
  out->how = (cvy_reduction){.axes = 0};
  if (problem.operation == CVY_REDUCE) out->how = problem.reduce.how;
  find_shapes(&problem, operands);
  return check_arrays(out, operands, &problem);
}

/* --------------------------------------------------------------------------------- gradient */

static int find(const char (*names)[CVY_PROGRAM_NAME], int count, const char *name, size_t length) {
  for (int i = 0; i < count; i++)
    if (strlen(names[i]) == length && !memcmp(names[i], name, length)) return i;
  return -1;
}

static convoy_status check_count(uint32_t wanted) {
  int count = __builtin_popcount(wanted);
  if (count >= 1 && count <= CVY_PROGRAM_RESULTS) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "gradients of %d inputs are asked for; at least 1, at most %d come at once",
                  count, CVY_PROGRAM_RESULTS);
}

static convoy_status find_wanted(const convoy_program *program, const char *of, uint32_t *wanted) {
  *wanted = of ? 0 : (1u << program->program.inputs) - 1;
  for (const char *at = of ? of + strspn(of, " ") : ""; *at;) {
    size_t length = strcspn(at, " ");
    int i = find(program->names.input, program->program.inputs, at, length);
    if (i < 0)
      return cvy_fail(CONVOY_ERR_ARGUMENT, "the program has no input \"%.*s\"",
                      (int)(length < CVY_PROGRAM_NAME ? length : CVY_PROGRAM_NAME), at);
    *wanted |= 1u << i;
    at += length + strspn(at + length, " ");
  }
  return check_count(*wanted);
}

/* Results that are sums take their gradient to each element. Two that are the same sum are one
 * value of the program, to which one gradient belongs. */
static convoy_status check_sums(const convoy_program *program) {
  for (int k = 0; k < program->how.results; k++) {
    if (program->how.result[k].kind != CVY_REDUCE_SUM)
      return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                      "the gradient of %s is no program: of reductions only sums have one",
                      program->names.result[k]);
    int value = program->how.result[k].value;
    if (value != k)
      return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s is the same sum as %s, which has the gradient",
                      program->names.result[k], program->names.result[value]);
  }
  return CONVOY_OK;
}

static convoy_status name_gradient(const char *name, char *to) {
  cvy_text text = cvy_text_in(to, CVY_PROGRAM_NAME);
  cvy_text_add(&text, "d_%s", name);
  if (!text.overflow) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "the name d_%s is longer than %d characters", name,
                  CVY_PROGRAM_NAME - 1);
}

/* The gradient for a result, among what the gradient reads: no input may have that name. */
static convoy_status name_gradient_read(const convoy_program *program, int result, char *to) {
  convoy_status status = name_gradient(program->names.result[result], to);
  if (status || find(program->names.input, program->program.inputs, to, strlen(to)) < 0)
    return status;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "the gradient reads %s for the result %s, and an input has that name", to,
                  program->names.result[result]);
}

static convoy_status name_operands(const convoy_program *program,
                                   const cvy_program_gradient *gradient, uint32_t wanted,
                                   cvy_program_names *out) {
  convoy_status status = CONVOY_OK;
  int result = 0;
  memset(out, 0, sizeof *out);
  for (int i = 0; i < gradient->program.inputs && !status; i++) {
    int number = gradient->source[i].number;
    if (gradient->source[i].kind == CVY_SOURCE_INPUT)
      memcpy(out->input[i], program->names.input[number], CVY_PROGRAM_NAME);
    else
      status = name_gradient_read(program, number, out->input[i]);
  }
  for (int i = 0; i < program->program.inputs && !status; i++)
    if (wanted >> i & 1) status = name_gradient(program->names.input[i], out->result[result++]);
  return status;
}

convoy_status cvy_program_bind_gradient(const convoy_program *program, const char *of,
                                        convoy_program *out) {
  cvy_program_gradient gradient;
  uint32_t wanted, given = (1u << program->program.results) - 1;
  convoy_status status = find_wanted(program, of, &wanted);
  if (!status) status = check_sums(program);
  if (!status) status = cvy_program_gradient_of(&program->program, wanted, given, 0, &gradient);
  if (status) return status;
  memset(out, 0, sizeof *out);
  out->program = gradient.program;
  return name_operands(program, &gradient, wanted, &out->names);
}
