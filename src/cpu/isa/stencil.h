/* The contract of the stencils, the loops of cpu.depthwise, which move filters over rows of places.
 *
 * Tap (r, s) of result (o, i) is x[o x_step + r tap_step + shift[s] + i], o < rows, i < length. As
 * a list, shift[] goes on: shift[r across + s] = shift[s] + r tap_step. Nothing need be aligned. */
#ifndef CVY_CPU_ISA_STENCIL_H
#define CVY_CPU_ISA_STENCIL_H

#include <stdbool.h>
#include <stdint.h>

#define CVY_WIDEST_VECTOR 16 /* floats of the widest vector of any instruction set */

/* Memory that is wanted soon. It is asked for a few lines at a time between the sums, because the
 * processor keeps only a few requests open, and asking for many at once is waiting for them. */
typedef struct cvy_prefetch {
  const float *at, *end;
  int64_t step; /* floats asked for at a time */
  bool write;   /* it will be written, not read */
} cvy_prefetch;

typedef struct cvy_stencil {
  const float *x;
  const int64_t *shift;
  int64_t across, down; /* taps of a filter row, filter rows */
  int64_t x_step, tap_step;
  int64_t rows, length;
  cvy_prefetch *prefetch; /* two, or NULL */
  bool loose;             /* what lies between rows of y may be overwritten */
  bool interleaved; /* rows are whole vectors (interleave.h), and w has a weight of each tap for
                       every element */
} cvy_stencil;

/* y[o y_pitch + i] = sum over r, s of w[r across + s] tap(r, s). Rows shorter than a vector read x
 * up to a vector's end. */
typedef void cvy_stencil_sums(const cvy_stencil *stencil, const float *w, float *y,
                              int64_t y_pitch);

/* Adds y[o y_pitch + i] tap(r, s) to one of the CVY_WIDEST_VECTOR sums from sums[(r across + s)
 * CVY_WIDEST_VECTOR] on. The length must be at least a vector's. */
typedef void cvy_stencil_dots(const cvy_stencil *stencil, const float *y, int64_t y_pitch,
                              float *sums);

#endif
