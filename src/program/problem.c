/* Problems of programs: views, legality, counts, and the definition of an element. */
#include "program/problem.h"

#include <stdio.h>
#include <string.h>

#include "program/mode.h"

/* Places within memory stay far from the end of 64 bits, in bytes too. */
#define MOST_REACH (INT64_C(1) << 56)

/* The axes that each class has elements for. */
static const uint8_t axes_of_class[] = {
    [CVY_CLASS_FULL] = 0x1f,     [CVY_CLASS_IMAGE_CHANNEL] = 0x03, [CVY_CLASS_CHANNEL] = 0x02,
    [CVY_CLASS_POSITION] = 0x1c, [CVY_CLASS_ONE] = 0x00,
};

/* --------------------------------------------------------------------------------------- views */

cvy_program_view cvy_program_view_of(cvy_program_class what, convoy_dtype type,
                                     const int64_t *extent) {
  cvy_program_view view = {.type = (int32_t)type};
  int64_t stride = 1;
  for (int axis = CVY_PROGRAM_AXES - 1; axis >= 0; axis--) {
    if (!(axes_of_class[what] >> axis & 1) || extent[axis] <= 1) continue;
    view.stride[axis] = stride;
    stride *= extent[axis];
  }
  return view;
}

cvy_program_class cvy_program_class_of(const cvy_program_view *view, const int64_t *extent) {
  for (int what = CVY_CLASS_FULL; what < CVY_CLASS_STRIDED; what++) {
    cvy_program_view pure =
        cvy_program_view_of((cvy_program_class)what, (convoy_dtype)view->type, extent);
    if (memcmp(pure.stride, view->stride, sizeof pure.stride) == 0) return (cvy_program_class)what;
  }
  return CVY_CLASS_STRIDED;
}

void cvy_program_problem_init(const cvy_program *program, const int64_t *extent,
                              const cvy_program_class *inputs, cvy_program_problem *out) {
  memset(out, 0, sizeof *out);
  out->program = *program;
  memcpy(out->extent, extent, sizeof out->extent);
  for (int i = 0; i < program->inputs; i++)
    out->input[i] = cvy_program_view_of(inputs[i], CONVOY_FLOAT32, extent);
  for (int i = 0; i < program->results; i++)
    out->result[i] = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_FLOAT32, extent);
}

/* -------------------------------------------------------------------------------------- counts */

int64_t cvy_program_count(const int64_t *extent) {
  int64_t count = 1;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) count *= extent[axis];
  return count;
}

int64_t cvy_program_reach(const cvy_program_view *view, const int64_t *extent) {
  int64_t last = 0;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
    if (extent[axis] == 0) return 0;
    last += (extent[axis] - 1) * view->stride[axis];
  }
  return last + 1;
}

/* ------------------------------------------------------------------------------------ legality */

static bool is_zero(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++)
    if (at[i]) return false;
  return true;
}

convoy_status cvy_program_check_extents(const int64_t *extent) {
  int64_t count = 1;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
    if (extent[axis] < 0 || extent[axis] > INT32_MAX) {
      return cvy_fail(CONVOY_ERR_ARGUMENT, "program: the extent of %c is %lld",
                      cvy_axis_letters[axis], (long long)extent[axis]);
    }
    if (extent[axis] && count > MOST_REACH / extent[axis]) {
      return cvy_fail(CONVOY_ERR_ARGUMENT,
                      "program: extents %lld %lld %lld %lld %lld have more than 2^56 elements",
                      (long long)extent[0], (long long)extent[1], (long long)extent[2],
                      (long long)extent[3], (long long)extent[4]);
    }
    if (extent[axis]) count *= extent[axis];
  }
  return CONVOY_OK;
}

/* `what` and `number` name the operand in sentences. */
static convoy_status check_view(const cvy_program_view *view, const int64_t *extent,
                                const char *what, int number) {
  int64_t last = 0;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
    int64_t stride = view->stride[axis], steps = extent[axis] > 1 ? extent[axis] - 1 : 0;
    if (stride < 0 || stride > MOST_REACH || (stride && !steps)) {
      return cvy_fail(CONVOY_ERR_ARGUMENT,
                      "program: %s %d has stride %lld along %c, whose extent is %lld", what, number,
                      (long long)stride, cvy_axis_letters[axis], (long long)extent[axis]);
    }
    if (stride && steps > (MOST_REACH - last) / stride) {
      return cvy_fail(CONVOY_ERR_ARGUMENT, "program: %s %d reaches beyond 2^56 elements", what,
                      number);
    }
    last += stride * steps;
  }
  if (view->reserved || view->type < 0 || view->type >= CONVOY_DTYPES) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "program: %s %d has element type %d", what, number,
                    (int)view->type);
  }
  return CONVOY_OK;
}

/* Whether all elements have places of their own, as far as is plain to see: along each axis one
 * step is longer than all shorter steps together. */
static bool is_apart(const cvy_program_view *view, const int64_t *extent) {
  uint32_t axes = (1u << CVY_PROGRAM_AXES) - 1; /* that are left */
  int64_t covered = 0;
  for (int done = 0; done < CVY_PROGRAM_AXES; done++) {
    int next = -1;
    for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
      if ((axes >> axis & 1) && extent[axis] > 1 &&
          (next < 0 || view->stride[axis] < view->stride[next]))
        next = axis;
    }
    if (next < 0) return true;
    if (view->stride[next] <= covered) return false;
    covered += view->stride[next] * (extent[next] - 1);
    axes &= ~(1u << next);
  }
  return true;
}

static convoy_status check_result(const cvy_program_view *view, const int64_t *extent, int number) {
  convoy_status status = check_view(view, extent, "result", number);
  if (status) return status;
  if (view->type != CONVOY_FLOAT32) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "program: result %d has element type %d, not float32",
                    number, (int)view->type);
  }
  if (!is_apart(view, extent)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "program: result %d with strides %lld %lld %lld %lld %lld may have two "
                    "elements at one place",
                    number, (long long)view->stride[0], (long long)view->stride[1],
                    (long long)view->stride[2], (long long)view->stride[3],
                    (long long)view->stride[4]);
  }
  return CONVOY_OK;
}

static convoy_status check_unused(const cvy_program_view *views, int used, int most) {
  if (is_zero(views + used, (size_t)(most - used) * sizeof *views)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "program: views that are not used are not 0");
}

convoy_status cvy_program_check_inputs(const cvy_program_problem *problem) {
  const cvy_program *program = &problem->program;
  convoy_status status = cvy_program_check(program);
  if (!status) status = cvy_program_check_extents(problem->extent);
  for (int i = 0; !status && i < program->inputs; i++)
    status = check_view(&problem->input[i], problem->extent, "input", i);
  if (!status) status = check_unused(problem->input, program->inputs, CVY_PROGRAM_INPUTS);
  if (status) return status;
  if (!cvy_program_uses_of(program).random && (problem->seed || problem->run || problem->node)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "program: seed, run and node are %llu, %llu, %llu without random()",
                    (unsigned long long)problem->seed, (unsigned long long)problem->run,
                    (unsigned long long)problem->node);
  }
  return CONVOY_OK;
}

convoy_status cvy_program_check_results(const cvy_program_problem *problem, int results,
                                        const int64_t *extent) {
  convoy_status status = CONVOY_OK;
  for (int k = 0; !status && k < results; k++)
    status = check_result(&problem->result[k], extent, k);
  return status ? status : check_unused(problem->result, results, CVY_PROGRAM_RESULTS);
}

convoy_status cvy_program_problem_check(const cvy_program_problem *problem) {
  convoy_status status = cvy_program_check_inputs(problem);
  if (status) return status;
  return cvy_program_check_results(problem, problem->program.results, problem->extent);
}

/* -------------------------------------------------------------------------------- one element */

cvy_program_place cvy_program_place_of(const cvy_program_problem *problem, int64_t index) {
  cvy_program_place place = {
      .index = (uint64_t)index,
      .stream = cvy_program_stream_of(problem->seed, problem->run, problem->node)};
  for (int axis = CVY_PROGRAM_AXES - 1; axis >= 0; axis--) {
    place.axis[axis] = (int32_t)(index % problem->extent[axis]);
    index /= problem->extent[axis];
  }
  return place;
}

int64_t cvy_program_offset(const cvy_program_view *view, const cvy_program_place *place) {
  int64_t offset = 0;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    offset += view->stride[axis] * place->axis[axis];
  return offset;
}

static float load(const void *from, int32_t type, int64_t at) {
  if (type == CONVOY_INT32) return (float)((const int32_t *)from)[at];
  if (type == CONVOY_UINT8) return (float)((const uint8_t *)from)[at];
  return ((const float *)from)[at];
}

__attribute__((noinline)) bool cvy_program_problem_element_in_mode(
    const cvy_program_problem *problem, const void *const *inputs, int64_t index, float *results,
    float *flushed) {
  float value[CVY_PROGRAM_INPUTS];
  cvy_program_place place = cvy_program_place_of(problem, index);
  for (int i = 0; i < problem->program.inputs; i++) {
    const cvy_program_view *view = &problem->input[i];
    value[i] = load(inputs[i], view->type, cvy_program_offset(view, &place));
  }
  return cvy_program_element_both(&problem->program, value, &place, results, flushed);
}

bool cvy_program_problem_element(const cvy_program_problem *problem, const void *const *inputs,
                                 int64_t index, float *results, float *flushed) {
  fenv_t before;
  cvy_default_mode(&before);
  bool plain = cvy_program_problem_element_in_mode(problem, inputs, index, results, flushed);
  cvy_restore_mode(&before);
  return plain;
}
