/* Gradients of convolutions, which are convolutions.
 *
 * Each of x, w and y is made of the other two by the same sum of products, with the array that is
 * made taken out of it. So the gradient for an array that was read is what makes this array, with
 * the result's gradient in the result's place. */
#include <float.h>
#include <string.h>

#include "problem/conv/conv.h"
#include "problem/program/program.h"
#include "program/literal.h"

static const cvy_gradient_operand given_gradient = {CVY_GRADIENT_OF_OUTPUT, 0, 0};

/* An elementwise step whose result is as large as `array`. */
static convoy_status add_program(const cvy_problem *p, const char *text, const cvy_array *array,
                                 cvy_program_class inputs, cvy_gradient_step *step) {
  const cvy_program_class classes[CVY_PROGRAM_INPUTS] = {inputs, inputs};
  cvy_problem *to = &step->problem;
  cvy_program program;
  convoy_status status = cvy_program_parse(text, &program, NULL);
  if (!status) {
    cvy_program_problem_init(&program, array->extent, classes, &to->program);
    status = cvy_program_make(&to->program, to);
  }
  return status ? cvy_gradient_refuse(p, "%s", cvy_last_error()) : CONVOY_OK;
}

/* ------------------------------------------------------------------------------- activation */

/* By the sign of y, which is that of what the activation was applied to. At 0 it is the slope that
 * counts, as PyTorch has it; a NaN lets the gradient through. */
static convoy_status add_activation(const cvy_problem *p, cvy_gradient *out) {
  char text[80];
  cvy_array y = cvy_problem_output(p, 0);
  bool leaky = p->conv.activation == CONVOY_LEAKY_RELU && p->conv.slope != 0.0f;
  if (leaky && !(p->conv.slope >= FLT_MIN)) {
    return cvy_gradient_refuse(p,
                               "slope %g is no positive normal number: the sign of y does not say "
                               "which gradient there is",
                               (double)p->conv.slope);
  }
  cvy_text to = cvy_text_in(text, sizeof text);
  cvy_text_add(&to, "d = y <= 0 ? ");
  if (leaky) cvy_number_write(&to, p->conv.slope);
  cvy_text_add(&to, "%s : dy", leaky ? " * dy" : "0");
  cvy_gradient_step *step = cvy_gradient_add(out);
  step->in[0] = (cvy_gradient_operand){CVY_GRADIENT_OUTPUT, 0, 0};
  step->in[1] = given_gradient;
  return add_program(p, text, &y, CVY_CLASS_FULL, step);
}

/* ----------------------------------------------------------------------------------- inputs */

/* Where an array of the problem is, once the gradient has taken its result's place. */
static cvy_gradient_operand operand_of(const cvy_problem *p, cvy_conv_array array,
                                       cvy_gradient_operand d) {
  if (array == cvy_conv_out(p)) return d;
  return (cvy_gradient_operand){CVY_GRADIENT_INPUT, array == cvy_conv_in(p, 0) ? 0 : 1, 0};
}

static convoy_status add_convolution(const cvy_problem *p, int32_t i, cvy_gradient_operand d,
                                     cvy_gradient_step *step) {
  static const int32_t making[] = {[CVY_X] = CVY_CONV_BACKWARD_DATA,
                                   [CVY_W] = CVY_CONV_BACKWARD_WEIGHTS,
                                   [CVY_Y] = CVY_CONV_FORWARD};
  cvy_problem *to = &step->problem;
  cvy_problem_copy(to, p);
  to->operation = making[cvy_conv_in(p, i)];
  to->accumulate = to->conv.has_bias = 0;
  to->conv.activation = CONVOY_IDENTITY;
  to->conv.slope = 0.0f;
  for (int32_t k = 0; k < 2; k++) step->in[k] = operand_of(p, cvy_conv_in(to, k), d);
  return CONVOY_OK;
}

static convoy_status add_sum(const cvy_problem *p, int32_t i, cvy_gradient_operand d,
                             cvy_gradient_step *step) {
  (void)i;
  const convoy_conv conv = CONVOY_CONV_INIT(p->conv.rank);
  cvy_array y = cvy_problem_output(p, 0);
  int64_t shape[CONVOY_MAX_DIMS] = {y.extent[0], y.extent[1]};
  memcpy(shape + 2, y.extent + CONVOY_MAX_DIMS - conv.rank, (size_t)conv.rank * sizeof *shape);
  step->in[0] = d;
  return cvy_conv_make_bias(&conv, shape, 0.0f, &step->problem);
}

/* Of the sum that backward_bias is. */
static convoy_status add_spread(const cvy_problem *p, int32_t i, cvy_gradient_operand d,
                                cvy_gradient_step *step) {
  cvy_array dy = cvy_problem_input(p, i);
  step->in[0] = d;
  return add_program(p, "y = x", &dy, CVY_CLASS_CHANNEL, step);
}

typedef convoy_status add_fn(const cvy_problem *p, int32_t i, cvy_gradient_operand d,
                             cvy_gradient_step *step);

static add_fn *adder_of(const cvy_problem *p, int32_t i) {
  if (p->operation == CVY_CONV_BACKWARD_BIAS) return add_spread;
  return cvy_conv_in(p, i) == CVY_BIAS ? add_sum : add_convolution;
}

convoy_status cvy_conv_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                cvy_gradient *out) {
  (void)given; /* there is one output */
  int32_t inputs = cvy_problem_inputs(problem);
  cvy_gradient_operand d = given_gradient;
  convoy_status status = CONVOY_OK;
  if (problem->conv.activation != CONVOY_IDENTITY) {
    status = add_activation(problem, out);
    d = cvy_gradient_result(out, 0);
  }
  for (int32_t i = 0; i < inputs && !status; i++) {
    if (!(wanted >> i & 1)) continue;
    status = adder_of(problem, i)(problem, i, d, cvy_gradient_add(out));
    out->of[i] = cvy_gradient_result(out, 0);
  }
  if (wanted >> inputs & 1) out->of[inputs] = d; /* the activation is that of the whole sum */
  return status;
}
