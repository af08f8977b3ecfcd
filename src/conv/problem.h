/* A problem: one operation with its whole geometry, checked, without a device.
 *
 * Everything below core sees problems only, and only one kind of them: rank 3 (missing leading axes
 * have extent, filter and stride 1) and never transposed. A transposed convolution is a
 * relabelling: its forward is backward_data of the convolution that maps y to x, and so on, so
 * there is no second set of kernels. This file is the only place that knows extents, overflow and
 * legality. */
#ifndef CVY_PROBLEM_H
#define CVY_PROBLEM_H

#include "base/base.h"

/* Plain data: copied into the worker's ring, hashed, compared. No pointers, no implicit padding. */
typedef struct cvy_problem {
  int32_t direction;  /* convoy_direction, after relabelling */
  int32_t accumulate; /* 1: out += result (beta = 1) */
  int32_t has_bias; /* epilogue: out = act(result + bias[channel of out]); never with accumulate */
  int32_t activation; /* convoy_activation */
  float slope;
  int32_t rank; /* this, transposed and pad_end: as the caller gave it, for text only */
  int64_t n, c, k, groups;
  int64_t in[3], filter[3], out[3]; /* z h w, t r s, oz oh ow */
  int64_t stride[3], dilation[3];
  int64_t pad[3]; /* at the beginning; the end's padding is already in `out` */
  int64_t transposed, pad_end[3];
} cvy_problem;

/* Which array of a problem: x [n][c][in], w [k][c/groups][filter], y [n][k][out], bias [channels of
 * the direction's output]. */
typedef enum cvy_array { CVY_X, CVY_W, CVY_Y, CVY_BIAS } cvy_array;

/* Checks conv, shapes, beta and epilogue and relabels. x_shape and w_shape are those of the public
 * call (rank + 2 entries). epilogue and has_bias only for CONVOY_FORWARD. For CONVOY_BACKWARD_BIAS
 * it is cvy_problem_bias with the extents of y. Fails with ERR_ARGUMENT or ERR_SHAPE and a sentence
 * with the numbers. */
convoy_status cvy_problem_make(const convoy_conv *conv, convoy_direction direction,
                               const int64_t *x_shape, const int64_t *w_shape, float beta,
                               bool has_bias, const convoy_epilogue *epilogue, cvy_problem *out);

/* backward_bias needs only dy: makes its problem from dy's extents (rank + 2 entries), as that of a
 * filter of one element over one channel of dy's extents. */
convoy_status cvy_problem_bias(const convoy_conv *conv, const int64_t *dy_shape, float beta,
                               cvy_problem *out);

/* convoy_output_shape: see the public header. */
convoy_status cvy_output_shape(const convoy_conv *conv, const int64_t *x_shape,
                               const int64_t *w_shape, int64_t *y_shape);

/* The public call that a problem stands for: writes conv, both shapes (5 entries each) and
 * direction, such that cvy_problem_make gives the same problem, but for beta and the epilogue. */
void cvy_problem_spell(const cvy_problem *problem, convoy_conv *conv, int64_t *x_shape,
                       int64_t *w_shape, convoy_direction *direction);

/* Whether two problems differ at most in what the choice of an algorithm must not depend on: bias,
 * activation, beta, and how the caller put the geometry. */
bool cvy_problem_same(const cvy_problem *a, const cvy_problem *b);

/* The operands of a problem in the order the backends take them: a, b, then out.
 *   forward           a = x    b = w    out = y
 *   backward_data     a = y    b = w    out = x
 *   backward_weights  a = x    b = y    out = w
 *   backward_bias     a = y    none     out = bias */
typedef struct cvy_operands {
  cvy_array a, b, out;
  bool has_b;
} cvy_operands;
cvy_operands cvy_problem_operands(const cvy_problem *problem);

/* Elements of an array of the problem. Cannot overflow: cvy_problem_make checked it. CVY_BIAS is
 * the channel count of `out` (forward, backward_bias: k; backward_data: c). */
int64_t cvy_problem_count(const cvy_problem *problem, cvy_array array);

/* Products of extents, for kernels. */
int64_t cvy_in_volume(const cvy_problem *problem);     /* z h w */
int64_t cvy_filter_volume(const cvy_problem *problem); /* t r s */
int64_t cvy_out_volume(const cvy_problem *problem);    /* oz oh ow */
bool cvy_problem_strided(const cvy_problem *problem);  /* along any axis */

/* conv/work.c: operations and the least bytes moved (every operand once). */
double cvy_problem_flops(const cvy_problem *problem);
double cvy_problem_bytes(const cvy_problem *problem);

/* conv/element.c: one element of the result by its definition, in float64, with everything that is
 * done to it. The operands as cvy_problem_operands says; bias and prior (what is added to) only
 * where the problem has them. magnitude = the sum of the absolute values of all that is added,
 * times the slope of the activation where that is above 1. */
typedef struct cvy_values {
  const float *a, *b, *bias, *prior;
} cvy_values;
typedef struct cvy_element {
  double value, magnitude;
} cvy_element;
cvy_element cvy_problem_element(const cvy_problem *problem, const cvy_values *from, int64_t index);
/* The most products that any element of the result sums. */
int64_t cvy_problem_terms(const cvy_problem *problem);
/* How far a float32 result may be from the exact one: the promise of convoy.h. */
double cvy_problem_bound(const cvy_problem *problem, double magnitude);
/* conv/window.c: the magnitude for rows with an error_growth, which mix what lies within `reach` of
 * the element's window. Stride 1; not for backward_bias. */
double cvy_problem_wide_magnitude(const cvy_problem *problem, const cvy_values *from, int64_t index,
                                  int64_t reach);

/* conv/shape_text.c: convoy_parse_problem and convoy_format_problem, see the public header. */
convoy_status cvy_parse_problem(const char *text, convoy_conv *conv, int64_t *x_shape,
                                int64_t *w_shape, convoy_direction *direction);
convoy_status cvy_format_problem(const convoy_conv *conv, const int64_t *x_shape,
                                 const int64_t *w_shape, convoy_direction direction, char *text,
                                 size_t size);

/* conv/shape_text.c: the direction of that name, or -1. */
int32_t cvy_direction_named(const char *name);

/* conv/shape_text.c: the problem as its caller put it, in that grammar: for logs, sentences,
 * records. Always fits CONVOY_PROBLEM_TEXT bytes; "?" for what no call can have made. */
void cvy_problem_text(const cvy_problem *problem, char *text, size_t size);

#endif
