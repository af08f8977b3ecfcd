/* Gradients of programs and reductions: programs again (program/gradient.c), and where an input has
 * one element for several of the index space, sums of such programs over these axes. */
#include <string.h>

#include "problem/program/program.h"

enum { AXES = CVY_PROGRAM_AXES };

/* An array, and how it lies in the index space. */
typedef struct bound_array {
  cvy_gradient_operand from;
  const cvy_program_view *view;
} bound_array;

/* What a gradient is taken of: a program over the index space of the problem, whatever that is. */
typedef struct elementwise {
  const cvy_problem *problem;
  const cvy_program_problem *of; /* its index space, inputs and random numbers */
  const cvy_program *program;
  bound_array input[CVY_PROGRAM_INPUTS];     /* of the program */
  bound_array gradient[CVY_PROGRAM_RESULTS]; /* for its results */
  const cvy_program_view *readable;          /* of results that are there; NULL: none is */
} elementwise;

static bound_array array_at(int32_t source, int32_t number, const cvy_program_view *view) {
  return (bound_array){{source, number, 0}, view};
}

/* -------------------------------------------------------------------------------------- views */

/* The axes along which there is one element for all. */
static uint32_t spread_axes(const cvy_program_view *view, const int64_t *extent) {
  uint32_t axes = 0;
  for (int axis = 0; axis < AXES; axis++)
    if (extent[axis] > 1 && !view->stride[axis]) axes |= 1u << axis;
  return axes;
}

/* Whether it is a whole array along the other axes, in their order: as sums over those are. */
static bool is_whole(const cvy_program_view *view, const int64_t *extent) {
  int64_t next = 1;
  for (int axis = AXES - 1; axis >= 0; axis--) {
    if (!view->stride[axis]) continue;
    if (view->stride[axis] != next) return false;
    next *= extent[axis];
  }
  return true;
}

static convoy_status check_whole(const cvy_problem *problem, uint32_t wanted) {
  const cvy_program_problem *of = cvy_program_part(problem);
  for (int i = 0; i < of->program.inputs; i++) {
    const int64_t *stride = of->input[i].stride;
    if (!(wanted >> i & 1) || is_whole(&of->input[i], of->extent)) continue;
    return cvy_gradient_refuse(
        problem,
        "x%d with strides %lld %lld %lld %lld %lld is not a whole array, and "
        "has no gradient",
        i, (long long)stride[0], (long long)stride[1], (long long)stride[2], (long long)stride[3],
        (long long)stride[4]);
  }
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------------- steps */

/* Of a program over the same index space; `axes` 0: nothing is reduced. */
static convoy_status add_step(const cvy_program_problem *of, const cvy_program *program,
                              const cvy_reduction *how, const bound_array *inputs,
                              cvy_gradient *out) {
  static const cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  cvy_gradient_step *step = cvy_gradient_add(out);
  cvy_problem *to = &step->problem;
  cvy_program_problem *part = how->axes ? &to->reduce.of : &to->program;
  if (how->axes)
    cvy_reduce_problem_init(program, how, of->extent, full, &to->reduce);
  else
    cvy_program_problem_init(program, of->extent, full, &to->program);
  for (int i = 0; i < program->inputs; i++) {
    step->in[i] = inputs[i].from;
    part->input[i] = *inputs[i].view;
  }
  if (cvy_program_uses_of(program).random) {
    part->seed = of->seed;
    part->run = of->run;
    part->node = of->node;
  }
  return how->axes ? cvy_reduce_make(&to->reduce, to) : cvy_program_make(&to->program, to);
}

/* ------------------------------------------------------------------------------- elementwise */

static bound_array source_of(const elementwise *e, int kind, int number) {
  if (kind == CVY_SOURCE_INPUT) return e->input[number];
  if (kind == CVY_SOURCE_GRADIENT) return e->gradient[number];
  return array_at(CVY_GRADIENT_OUTPUT, number, &e->readable[number]);
}

/* Whether result `k` of a gradient needs no step: it is 0, or as it was given. */
static bool is_known(const elementwise *e, const cvy_program_gradient *gradient, int k,
                     uint32_t axes, cvy_gradient_operand *known) {
  int result = gradient->program.result[k], input = result - CVY_OPERAND_INPUT;
  if (result >= CVY_OPERAND_CONSTANT) {
    *known = (cvy_gradient_operand){CVY_GRADIENT_NONE, 0, 0};
    return gradient->program.constant[result - CVY_OPERAND_CONSTANT] == 0.0f;
  }
  if (axes || input < 0) return false;
  bound_array from = source_of(e, gradient->source[input].kind, gradient->source[input].number);
  *known = from.from;
  return from.from.source == CVY_GRADIENT_OF_OUTPUT &&
         cvy_program_class_of(from.view, e->of->extent) == CVY_CLASS_FULL;
}

/* Which of the group are known, and where they are. */
static uint32_t take_known(const elementwise *e, const cvy_program_gradient *gradient,
                           uint32_t group, uint32_t axes, cvy_gradient *out) {
  uint32_t known = 0;
  for (int i = 0, k = 0; i < e->program->inputs; i++) {
    cvy_gradient_operand from;
    if (!(group >> i & 1)) continue;
    if (!is_known(e, gradient, k++, axes, &from)) continue;
    out->of[e->input[i].from.number] = from;
    known |= 1u << i;
  }
  return known;
}

/* Inputs with equal gradients share one. */
static convoy_status add_group(const elementwise *e, cvy_program_gradient *gradient, uint32_t group,
                               uint32_t axes, cvy_gradient *out) {
  cvy_program *program = &gradient->program;
  cvy_reduction how = {.axes = (uint8_t)axes};
  bound_array inputs[CVY_PROGRAM_INPUTS];
  int32_t step = out->steps, results = 0;
  for (int i = 0, k = 0; i < e->program->inputs; i++) {
    if (!(group >> i & 1)) continue;
    int32_t same = 0;
    while (same < results && program->result[same] != program->result[k]) same++;
    if (same == results) program->result[results++] = program->result[k];
    out->of[e->input[i].from.number] = (cvy_gradient_operand){CVY_GRADIENT_STEP, step, same};
    k++;
  }
  for (int k = results; k < CVY_PROGRAM_RESULTS; k++) program->result[k] = 0;
  program->results = (uint8_t)results;
  for (int k = 0; k < results && axes; k++) how.result[k].value = (uint8_t)k;
  how.results = (uint8_t)(axes ? results : 0);
  for (int i = 0; i < program->inputs; i++)
    inputs[i] = source_of(e, gradient->source[i].kind, gradient->source[i].number);
  return add_step(e->of, program, &how, inputs, out);
}

/* As many as come at once, of those that the first of `wanted` shares its axes with. */
static uint32_t first_group(const elementwise *e, uint32_t wanted, uint32_t *axes) {
  uint32_t group = 0;
  for (int i = 0; i < e->program->inputs; i++) {
    if (!(wanted >> i & 1)) continue;
    uint32_t own = spread_axes(e->input[i].view, e->of->extent);
    if (!group) *axes = own;
    if (own == *axes && __builtin_popcount(group) < CVY_PROGRAM_RESULTS) group |= 1u << i;
  }
  return group;
}

static uint32_t without_last(uint32_t group) {
  return group & ~(1u << (31 - __builtin_clz(group)));
}

/* The gradients of some of the inputs in `wanted`, which are taken out of it: fewer where all are
 * too long a program, then without those that need no step. */
static convoy_status add_some(const elementwise *e, uint32_t *wanted, uint32_t given,
                              cvy_gradient *out) {
  uint32_t axes = 0, group = first_group(e, *wanted, &axes);
  uint32_t readable = e->readable ? (1u << e->program->results) - 1 : 0;
  cvy_program_gradient gradient;
  while (group) {
    if (cvy_program_gradient_of(e->program, group, given, readable, &gradient)) {
      if (!without_last(group)) return cvy_gradient_refuse(e->problem, "%s", cvy_last_error());
      group = without_last(group);
      continue;
    }
    uint32_t known = take_known(e, &gradient, group, axes, out);
    *wanted &= ~known;
    group &= ~known;
    if (known) continue;
    *wanted &= ~group;
    return add_group(e, &gradient, group, axes, out);
  }
  return CONVOY_OK;
}

static convoy_status add_gradients(const elementwise *e, uint32_t wanted, uint32_t given,
                                   cvy_gradient *out) {
  convoy_status status = CONVOY_OK;
  while (wanted && !status) status = add_some(e, &wanted, given, out);
  return status;
}

/* ----------------------------------------------------------------------------------- the rows */

convoy_status cvy_program_gradient_steps(const cvy_problem *problem, uint32_t wanted,
                                         uint32_t given, cvy_gradient *out) {
  const cvy_program_problem *of = &problem->program;
  elementwise e = {problem, of, &of->program, .readable = of->result};
  for (int i = 0; i < of->program.inputs; i++)
    e.input[i] = array_at(CVY_GRADIENT_INPUT, i, &of->input[i]);
  for (int r = 0; r < of->program.results; r++)
    e.gradient[r] = array_at(CVY_GRADIENT_OF_OUTPUT, r, &of->result[r]);
  convoy_status status = check_whole(problem, wanted);
  return status ? status : add_gradients(&e, wanted, given, out);
}

/* The arrays of a stage. Statistics are the first step, and lie as the results do. */
static void find_inputs(const cvy_reduce_problem *reduce, const cvy_reduce_stage *stage,
                        bound_array *inputs) {
  for (int i = 0; i < stage->program.inputs; i++) {
    int kind = stage->source[i].kind, number = stage->source[i].number;
    const cvy_program_view *view = &reduce->of.result[0];
    if (kind == CVY_REDUCE_FROM_INPUT)
      inputs[i] = array_at(CVY_GRADIENT_INPUT, number, &reduce->of.input[number]);
    else if (kind == CVY_REDUCE_FROM_RESULT)
      inputs[i] = array_at(CVY_GRADIENT_OUTPUT, number, view);
    else
      inputs[i] = (bound_array){{CVY_GRADIENT_STEP, 0, number}, view};
  }
}

/* Which inputs of the sums' program are in `wanted`. */
static uint32_t wanted_of(const cvy_reduce_stage *terms, uint32_t wanted) {
  uint32_t inputs = 0;
  for (int i = 0; i < terms->program.inputs; i++)
    if (terms->source[i].kind == CVY_REDUCE_FROM_INPUT && (wanted >> terms->source[i].number & 1))
      inputs |= 1u << i;
  return inputs;
}

static convoy_status add_statistics(const cvy_reduce_problem *reduce, const cvy_reduce_stage *stage,
                                    cvy_gradient *out) {
  bound_array inputs[CVY_PROGRAM_INPUTS];
  find_inputs(reduce, stage, inputs);
  return add_step(&reduce->of, &stage->program, &stage->how, inputs, out);
}

convoy_status cvy_reduce_gradient_steps(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                        cvy_gradient *out) {
  const cvy_reduce_problem *reduce = &problem->reduce;
  const cvy_program_problem *of = &reduce->of;
  cvy_reduce_gradient g;
  convoy_status status = check_whole(problem, wanted);
  if (status) return status;
  int64_t length = cvy_reduce_length(of->extent, reduce->how.axes);
  if (cvy_reduce_gradient_of(&of->program, &reduce->how, length, wanted, given, &g))
    return cvy_gradient_refuse(problem, "%s", cvy_last_error());
  if (g.statistics.how.results) status = add_statistics(reduce, &g.statistics, out);
  elementwise e = {problem, of, &g.terms.program, .readable = NULL};
  find_inputs(reduce, &g.terms, e.input);
  for (int t = 0; t < g.terms.how.results; t++)
    e.gradient[t] = array_at(CVY_GRADIENT_OF_OUTPUT, g.result[t], &of->result[0]);
  int32_t first = out->steps;
  if (!status)
    status = add_gradients(&e, wanted_of(&g.terms, wanted), (1u << g.terms.how.results) - 1, out);
  if (out->steps == first) out->steps = 0; /* no step needs the statistics */
  return status;
}
