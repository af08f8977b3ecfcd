/* Public functions on elementwise programs and their reductions: making them, what they are, and
 * carrying them out on tensors. */
#include <stdlib.h>
#include <string.h>

#include "api_apply.h"
#include "api_check.h"

/* ---------------------------------------------------------------------------------- making */

_Static_assert((int)CONVOY_MAX_OPERANDS == CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS,
               "the public header says how many operands there may be");

static convoy_status new_program(const convoy_program *from, convoy_program **out) {
  convoy_program *program = malloc(sizeof *program);
  if (!program) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a program");
  *program = *from;
  *out = program;
  return CONVOY_OK;
}

convoy_status convoy_program_parse(const char *text, convoy_program **out) {
  const cvy_pointer given[] = {{"text", text}, {"out", out}};
  convoy_program made;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_stack_check("convoy_program_parse");
  if (!status) status = cvy_reduction_parse(text, &made.program, &made.how, &made.names);
  return status ? status : new_program(&made, out);
}

convoy_status convoy_program_named(const char *name, convoy_program **out) {
  const cvy_pointer given[] = {{"name", name}, {"out", out}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (status) return status;
  const char *text = cvy_program_text_of(name);
  if (!text) return cvy_fail(CONVOY_ERR_NOT_FOUND, "there is no program called \"%s\"", name);
  return convoy_program_parse(text, out);
}

convoy_status convoy_parse_operation(const char *text, convoy_program **out, convoy_dtype *dtypes,
                                     int64_t shapes[][CONVOY_MAX_DIMS]) {
  const cvy_pointer given[] = {
      {"text", text}, {"out", out}, {"dtypes", dtypes}, {"shapes", shapes}};
  convoy_program made;
  cvy_shape operands[CONVOY_MAX_OPERANDS];
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_stack_check("convoy_parse_operation");
  if (!status) status = cvy_program_bind_text(text, &made, operands);
  if (!status) status = new_program(&made, out);
  if (status) return status;
  for (int i = 0; i < made.program.inputs + cvy_program_results(&made); i++) {
    dtypes[i] = operands[i].dtype;
    for (int axis = 0; axis < CONVOY_MAX_DIMS; axis++) shapes[i][axis] = operands[i].extent[axis];
  }
  return CONVOY_OK;
}

convoy_status convoy_program_gradient(const convoy_program *program, const char *of,
                                      convoy_program **out) {
  const cvy_pointer given[] = {{"program", program}, {"out", out}};
  convoy_program made;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_stack_check("convoy_program_gradient");
  if (!status) status = cvy_program_bind_gradient(program, of, &made);
  return status ? status : new_program(&made, out);
}

void convoy_program_free(convoy_program *program) {
  free(program);
}

/* -------------------------------------------------------------------------------- what it is */

convoy_status convoy_program_text(const convoy_program *program, char *text, size_t size) {
  const cvy_pointer given[] = {{"program", program}, {"text", text}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (status) return status;
  return cvy_reduction_text(&program->program, &program->how, &program->names, text, size);
}

const char *convoy_program_input(const convoy_program *program, int32_t i) {
  if (!program || i < 0 || i >= program->program.inputs) return NULL;
  return program->names.input[i];
}

const char *convoy_program_result(const convoy_program *program, int32_t i) {
  if (!program || i < 0 || i >= cvy_program_results(program)) return NULL;
  return program->names.result[i];
}

const char *convoy_program_name(int32_t i) {
  return cvy_program_name_at(i);
}

/* --------------------------------------------------------------------------- carrying it out */

/* All tensors that the program needs, by their names. */
static convoy_status check_tensors(const convoy_program *program,
                                   const convoy_tensor *const inputs[],
                                   convoy_tensor *const outputs[]) {
  cvy_pointer given[CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS];
  size_t count = 0;
  for (int i = 0; i < program->program.inputs; i++)
    given[count++] = (cvy_pointer){program->names.input[i], inputs[i]};
  for (int k = 0; k < cvy_program_results(program); k++)
    given[count++] = (cvy_pointer){program->names.result[k], outputs[k]};
  return cvy_check_pointers(given, count);
}

static convoy_status check_apply(const convoy_program *program, const convoy_tensor *const inputs[],
                                 convoy_tensor *const outputs[], const convoy_run *run) {
  const cvy_pointer given[] = {{"program", program}, {"outputs", outputs}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status && program->program.inputs && !inputs)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "inputs is NULL");
  if (!status) status = check_tensors(program, inputs, outputs);
  return status ? status : cvy_check_struct("run", run, sizeof *run, true);
}

static convoy_status check_apart(const convoy_program *program, convoy_tensor *const outputs[]) {
  for (int k = 1; k < cvy_program_results(program); k++) {
    for (int j = 0; j < k; j++) {
      if (outputs[j] == outputs[k])
        return cvy_fail(CONVOY_ERR_ARGUMENT, "%s and %s are the same tensor",
                        program->names.result[j], program->names.result[k]);
    }
  }
  return CONVOY_OK;
}

/* Each operation with random numbers has numbers of its own. */
static void draw(convoy_context *context, const convoy_program *program, cvy_problem *problem) {
  cvy_program_problem *of = program->how.axes ? &problem->reduce.of : &problem->program;
  if (!cvy_program_uses_of(&program->program).random) return;
  of->seed = context->seed;
  of->node = context->draws++;
}

convoy_status cvy_apply(convoy_context *context, const convoy_program *program,
                        const convoy_tensor *const inputs[], const cvy_shape *in,
                        convoy_tensor *const outputs[], const cvy_shape *out, convoy_run *run) {
  cvy_problem problem;
  convoy_status status = cvy_program_bind(program, in, out, &problem);
  if (status) return status;
  draw(context, program, &problem);
  return cvy_operate_tensors(context, &problem, inputs, outputs, run);
}

static convoy_status apply(convoy_context *context, const convoy_program *program,
                           const convoy_tensor *const inputs[], convoy_tensor *const outputs[],
                           convoy_run *run) {
  cvy_shape in[CVY_PROGRAM_INPUTS], out[CVY_PROGRAM_RESULTS];
  int32_t results = cvy_program_results(program);
  convoy_status status = cvy_check_owners(context, inputs, program->program.inputs);
  if (!status) status = cvy_check_owners(context, (const convoy_tensor *const *)outputs, results);
  if (!status) status = check_apart(program, outputs);
  if (status) return status;
  for (int i = 0; i < program->program.inputs; i++) in[i] = cvy_tensor_shape(inputs[i]);
  for (int k = 0; k < results; k++) out[k] = cvy_tensor_shape(outputs[k]);
  return cvy_apply(context, program, inputs, in, outputs, out, run);
}

convoy_status convoy_apply(convoy_context *context, const convoy_program *program,
                           const convoy_tensor *const inputs[], convoy_tensor *const outputs[],
                           convoy_run *run) {
  convoy_status status = check_apply(program, inputs, outputs, run);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, apply(context, program, inputs, outputs, run));
}

convoy_status convoy_seed(convoy_context *context, uint64_t seed) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  context->seed = seed;
  context->draws = 0;
  return cvy_leave(context, CONVOY_OK);
}

/* -------------------------------------------------------------------------------- by name */

/* Of one input or two; b is NULL where there is one. */
static convoy_status apply_common(convoy_context *context, cvy_common_program which,
                                  const convoy_tensor *a, const convoy_tensor *b, convoy_tensor *y,
                                  convoy_run *run) {
  const convoy_tensor *const inputs[CVY_PROGRAM_INPUTS] = {a, b};
  convoy_tensor *const outputs[CVY_PROGRAM_RESULTS] = {y};
  return convoy_apply(context, cvy_program_common(which), inputs, outputs, run);
}

convoy_status convoy_relu(convoy_context *context, const convoy_tensor *x, convoy_tensor *y,
                          convoy_run *run) {
  return apply_common(context, CVY_COMMON_RELU, x, NULL, y, run);
}

convoy_status convoy_silu(convoy_context *context, const convoy_tensor *x, convoy_tensor *y,
                          convoy_run *run) {
  return apply_common(context, CVY_COMMON_SILU, x, NULL, y, run);
}

convoy_status convoy_sigmoid(convoy_context *context, const convoy_tensor *x, convoy_tensor *y,
                             convoy_run *run) {
  return apply_common(context, CVY_COMMON_SIGMOID, x, NULL, y, run);
}

convoy_status convoy_add(convoy_context *context, const convoy_tensor *a, const convoy_tensor *b,
                         convoy_tensor *y, convoy_run *run) {
  return apply_common(context, CVY_COMMON_ADD, a, b, y, run);
}

convoy_status convoy_multiply(convoy_context *context, const convoy_tensor *a,
                              const convoy_tensor *b, convoy_tensor *y, convoy_run *run) {
  return apply_common(context, CVY_COMMON_MULTIPLY, a, b, y, run);
}
