/* Channels laid out so that a convolution is nothing but long shifted rows. x gets its padding, and
 * with a stride one plane per phase: element u = x index + pad goes to phase u % stride, place u /
 * stride. y gets the row pitch of x, with zeros in the gaps. Then the tap f of an axis reads place
 * o + f dilation / stride of phase f dilation % stride, whatever the geometry. */
#ifndef CVY_CPU_SHARED_PLANES_H
#define CVY_CPU_SHARED_PLANES_H

#include "cpu/isa/simd.h"
#include "problem/conv/conv.h"

typedef struct cvy_planes_layout {
  const cvy_problem *problem;
  int64_t extent[3]; /* places per axis */
  int64_t phases[3]; /* remainders of the stride that any tap reads: just 0 if there is one tap */
  int64_t plane;     /* floats of one phase */
  int64_t x_floats;  /* floats of all phases */
  int64_t y_floats;  /* from the first to the last output: the length of the long row */
} cvy_planes_layout;

cvy_planes_layout cvy_planes_layout_of(const cvy_problem *problem);

/* Where a tap begins to read: tap (t, r, s) reads x + cvy_planes_tap() + output place. */
int64_t cvy_planes_tap(const cvy_planes_layout *layout, int64_t t, int64_t r, int64_t s);

/* Loads a channel of x. */
void cvy_planes_load_x(const cvy_planes_layout *layout, const cvy_simd *simd, const float *x,
                       float *to);
/* The same for memory in which the places that no element of x goes to are 0 already. */
void cvy_planes_fill_x(const cvy_planes_layout *layout, const cvy_simd *simd, const float *x,
                       float *to);
/* Loads a channel of y. Leaves the gaps as they are, so they have to be set to 0 once. */
void cvy_planes_load_y(const cvy_planes_layout *layout, const cvy_simd *simd, const float *y,
                       float *to);

#endif
