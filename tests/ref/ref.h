/* The reference: convolution by its definition, in float64.
 *
 * Shares no code and no idea of speed with src/: positions are counted by loops, every product is
 * formed one at a time. Bias, beta and activation are left to the caller. Arguments must be legal
 * (convoy_output_shape has accepted them); nothing is checked here. */
#ifndef CONVOY_REF_H
#define CONVOY_REF_H

#include "convoy/convoy.h"

/* Extents of y, found by counting the positions of the filter. */
void ref_output_shape(const convoy_conv *conv, const int64_t *x_shape, const int64_t *w_shape,
                      int64_t *y_shape);

/* Elements of the direction's output: y, dx, dw or db. */
int64_t ref_output_count(const convoy_conv *conv, convoy_direction direction,
                         const int64_t *x_shape, const int64_t *w_shape);

/* One output element by its index in the output array. Operands in the order
 *   forward x, w   backward_data dy, w   backward_weights x, dy   backward_bias dy, NULL
 * magnitude = sum |a| |b| and terms = the number of products, those with padding left out. */
void ref_element(const convoy_conv *conv, convoy_direction direction, const int64_t *x_shape,
                 const int64_t *w_shape, const float *a, const float *b, int64_t index,
                 double *value, double *magnitude, int64_t *terms);

typedef struct ref_value {
  double value, magnitude;
  int64_t terms;
} ref_value;

/* sum X|w| of convoy.h, Accuracy: what bounds the error of algorithms that mix values within `reach`.
 * Strides 1, not for backward_bias. */
double ref_wide_magnitude(const convoy_conv *conv, convoy_direction direction,
                          const int64_t *x_shape, const int64_t *w_shape, const float *a,
                          const float *b, int64_t index, int64_t reach);

/* All elements: out has ref_output_count() entries. */
void ref_run(const convoy_conv *conv, convoy_direction direction, const int64_t *x_shape,
             const int64_t *w_shape, const float *a, const float *b, ref_value *out);

#endif
