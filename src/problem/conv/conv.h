/* The family of convolutions: four operations, one for each convoy_direction.
 *
 * There is only one kind of them below the public call: rank 3 (missing leading axes have extent,
 * filter and stride 1) and never transposed. A transposed convolution is a relabelling: its forward
 * is backward_data of the convolution that maps y to x, and so on, so there is no second set of
 * kernels. The functions are for problems of this family only. */
#ifndef CVY_CONV_H
#define CVY_CONV_H

#include "problem/operation.h"

extern const cvy_operation cvy_conv_forward, cvy_conv_backward_data, cvy_conv_backward_weights,
    cvy_conv_backward_bias;

/* Sets of them: with a filter and results per image, with a filter, all. */
#define CVY_CONV_MAPS \
  (CVY_OPERATION_BIT(CVY_CONV_FORWARD) | CVY_OPERATION_BIT(CVY_CONV_BACKWARD_DATA))
#define CVY_CONV_FILTERED (CVY_CONV_MAPS | CVY_OPERATION_BIT(CVY_CONV_BACKWARD_WEIGHTS))
#define CVY_CONV_ALL (CVY_CONV_FILTERED | CVY_OPERATION_BIT(CVY_CONV_BACKWARD_BIAS))

/* Which array of a problem: x [n][c][in], w [k][c/groups][filter], y [n][k][out], bias [channels of
 * the direction's output]. */
typedef enum cvy_conv_array { CVY_X, CVY_W, CVY_Y, CVY_BIAS } cvy_conv_array;

/* Checks conv, shapes, beta and epilogue and relabels. x_shape and w_shape are those of the public
 * call (rank + 2 entries). epilogue and has_bias only for CONVOY_FORWARD. For CONVOY_BACKWARD_BIAS
 * it is cvy_conv_make_bias with the extents of y. Fails with ERR_ARGUMENT or ERR_SHAPE and a
 * sentence with the numbers. */
convoy_status cvy_conv_make(const convoy_conv *conv, convoy_direction direction,
                            const int64_t *x_shape, const int64_t *w_shape, float beta,
                            bool has_bias, const convoy_epilogue *epilogue, cvy_problem *out);

/* backward_bias needs only dy: makes its problem from dy's extents (rank + 2 entries), as that of a
 * filter of one element over one channel of dy's extents. */
convoy_status cvy_conv_make_bias(const convoy_conv *conv, const int64_t *dy_shape, float beta,
                                 cvy_problem *out);

/* convoy_output_shape: see the public header. */
convoy_status cvy_output_shape(const convoy_conv *conv, const int64_t *x_shape,
                               const int64_t *w_shape, int64_t *y_shape);

/* The public call that a problem stands for: writes conv, both shapes (5 entries each) and
 * direction, such that cvy_conv_make gives the same problem, but for beta and the epilogue. */
void cvy_conv_spell(const cvy_problem *problem, convoy_conv *conv, int64_t *x_shape,
                    int64_t *w_shape, convoy_direction *direction);

/* Which array input `i` and the result are.
 *   forward           x, w, bias   y
 *   backward_data     y, w, bias   x
 *   backward_weights  x, y         w
 *   backward_bias     y            bias */
cvy_conv_array cvy_conv_in(const cvy_problem *problem, int32_t i);
cvy_conv_array cvy_conv_out(const cvy_problem *problem);

/* Extents of y in the public call (rank + 2 entries); not for backward_bias. */
void cvy_conv_y_shape(const cvy_problem *problem, int64_t *y_shape);

/* Elements of an array of the problem. Cannot overflow: cvy_conv_make checked it. CVY_BIAS is
 * the channel count of `out` (forward, backward_bias: k; backward_data: c). */
int64_t cvy_conv_count(const cvy_problem *problem, cvy_conv_array array);

/* How an array lies; elements of one image of it, and from image to image: 0 of those that have no
 * images. */
cvy_array_view cvy_conv_view(const cvy_problem *problem, cvy_conv_array array);
int64_t cvy_conv_image(const cvy_problem *problem, cvy_conv_array array);
int64_t cvy_conv_pitch(const cvy_problem *problem, cvy_conv_array array);
/* Where a channel of image `n` begins in CVY_X or CVY_Y. */
int64_t cvy_conv_place(const cvy_problem *problem, cvy_conv_array array, int64_t n,
                       int64_t channel);

/* Products of extents, for kernels. */
int64_t cvy_in_volume(const cvy_problem *problem);     /* z h w */
int64_t cvy_filter_volume(const cvy_problem *problem); /* t r s */
int64_t cvy_out_volume(const cvy_problem *problem);    /* oz oh ow */
bool cvy_conv_strided(const cvy_problem *problem);     /* along any axis */

/* conv/fully_connected.c: whether a convolution with filters, or the gradient of one, is a matrix
 * product of dense rows in one group; and that product, without bias and activation. Its operands
 * are the convolution's, and those of backward_weights change places: dy is the first. */
bool cvy_conv_is_product(const cvy_problem *problem);
void cvy_conv_product(const cvy_problem *problem, cvy_problem *out);

/* conv/element.c: one element of the result, whose magnitude is the sum of the absolute values of
 * all that is added, times the slope of the activation where that is above 1. */
cvy_element cvy_conv_element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                             int64_t index);
/* The most products that any element of the result sums. */
int64_t cvy_conv_terms(const cvy_problem *problem);
/* The promise of convoy.h. */
double cvy_conv_bound(const cvy_problem *problem, double magnitude);
/* conv/gradient.c. ERR_UNSUPPORTED for an activation whose slope is negative. */
convoy_status cvy_conv_gradient(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                cvy_gradient *out);
/* conv/excerpt.c: as cvy_problem_excerpt. */
bool cvy_conv_excerpt(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out);
/* conv/window.c: stride 1; not for backward_bias. */
double cvy_conv_wide_magnitude(const cvy_problem *problem, const cvy_values *from, int64_t index,
                               int64_t reach);

/* conv/shape_text.c: convoy_parse_problem and convoy_format_problem, see the public header. */
convoy_status cvy_parse_problem(const char *text, convoy_conv *conv, int64_t *x_shape,
                                int64_t *w_shape, convoy_direction *direction);
convoy_status cvy_format_problem(const convoy_conv *conv, const int64_t *x_shape,
                                 const int64_t *w_shape, convoy_direction direction, char *text,
                                 size_t size);
/* The problem as its caller put it, in that grammar, and which arrays are parts of larger tensors:
 * "n1c3h9w9 k4r3s3 forward, x 2000 apart by 4". */
void cvy_conv_print(const cvy_problem *problem, char *text, size_t size);
/* Such a text, with beta 0 and without an epilogue, and perhaps with what cvy_conv_remark says. */
bool cvy_conv_parse(const char *text, cvy_problem *out);
const char *cvy_conv_remark(const cvy_problem *problem);

/* conv/shape_class.c */
void cvy_conv_class(const cvy_problem *problem, cvy_text *text);

#endif
