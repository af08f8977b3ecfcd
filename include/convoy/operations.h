/* Convoy: operations on tensors beside convolutions and programs, the part of the public interface
 * that convoy.h includes at its end. Its first paragraphs, on errors, threads and structs, hold
 * here too. */
#ifndef CONVOY_OPERATIONS_H
#define CONVOY_OPERATIONS_H

#include "convoy/convoy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------- matrix products */

#define CONVOY_MATMUL_TRANSPOSE_A 1u /* a lies as [k][m] */
#define CONVOY_MATMUL_TRANSPOSE_B 2u /* b lies as [n][k] */
#define CONVOY_MATMUL_SUM 4u         /* y is the sum of the batch's products */

/* y[i][m][n] = sum over k of a[i][m][k] b[i][k][n]
 *
 * a and b have 2 extents, or 3, the first of which is the batch i. Where one side has no batch, or
 * one of 1, it serves for all products. y is [i][m][n], or [m][n] where neither side has 3 extents
 * or with CONVOY_MATMUL_SUM, for which both sides have the same batch:
 *   y[m][n] = sum over i and k of a[i][m][k] b[i][k][n]
 * `flags` are 0, or those above together. An extent may be 0; a sum of no terms is 0. y may be the
 * same tensor as a or b.
 *
 * The gradients are products too. With a and b as they lie, without flags:
 *   da = dy b, CONVOY_MATMUL_TRANSPOSE_B, and db = a dy, CONVOY_MATMUL_TRANSPOSE_A,
 * and for a side that served for all products also with CONVOY_MATMUL_SUM. So a linear layer with
 * weights [out][in] is y = x w with CONVOY_MATMUL_TRANSPOSE_B, its dx = dy w without flags and its
 * dw = dy x with CONVOY_MATMUL_TRANSPOSE_A.
 *
 * Accuracy is that of convolutions, |y - exact| <= 4 (len + 2) 2^-24 sum|a||b|, with len the number
 * of terms of one sum.
 * The call is asynchronous. Returns OK; ERR_ARGUMENT for other flags or another type than float32;
 * ERR_SHAPE with the extents that do not fit; otherwise as convoy_forward does. `run` as there. */
CONVOY_API convoy_status convoy_matmul(convoy_context *context, uint32_t flags,
                                       const convoy_tensor *a, const convoy_tensor *b,
                                       convoy_tensor *y, convoy_run *run);

/* A product as one line of text, as logs, sentences and reports write it: the extents of a and b as
 * they lie, that of the batch first where there is one, with t behind a side that is transposed,
 * and "sum" for CONVOY_MATMUL_SUM:
 *
 *   matmul a64x128 b1000x128t
 *   matmul a8x128x64t b8x128x32 sum
 *
 * Writes the flags, and for a, b and y their extents and how many each has. Returns OK;
 * ERR_ARGUMENT with the place of the mistake; ERR_SHAPE. May be called from any thread. */
CONVOY_API convoy_status convoy_parse_matmul(const char *text, uint32_t *flags, int32_t *dims,
                                             int64_t shapes[][CONVOY_MAX_DIMS]);

/* ----------------------------------------------------------------------------------- pooling */

/* Windows over the spatial axes, as for convolutions: only the first `rank` entries count. Legal
 * are rank 1 to 3, extent, stride and dilation >= 1, padding >= 0 and shorter than the window with
 * its gaps. Only windows of maxima may have gaps. */
typedef struct convoy_window {
  uint32_t struct_size;
  int32_t rank;
  int32_t count_padding; /* 1: a mean's divisor counts padding, else only what is in the input */
  int32_t ceil_mode;     /* 1: the last window may reach beyond the padding */
  int64_t extent[CONVOY_MAX_RANK];
  int64_t stride[CONVOY_MAX_RANK];
  int64_t pad_begin[CONVOY_MAX_RANK];
  int64_t pad_end[CONVOY_MAX_RANK];
  int64_t dilation[CONVOY_MAX_RANK];
} convoy_window;

// clang-format off
#define CONVOY_WINDOW_INIT(rank_) \
  { sizeof(convoy_window), (rank_), 0, 0, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1} }
// clang-format on

/* Writes the extents of y (rank + 2 entries): those of convoy_output_shape for a filter of the
 * window's extents. With ceil_mode they are rounded up, but no window begins behind the input.
 * Returns OK, ERR_ARGUMENT, ERR_SHAPE. May be called from any thread. */
CONVOY_API convoy_status convoy_pool_shape(const convoy_window *window, const int64_t *x_shape,
                                           int64_t *y_shape);

/* y = the maximum of each window of x; and its gradient, dx = for each element the sum of dy over
 * the windows whose maximum it is. Of equal ones the first counts, in the order of memory, and of
 * NaN, which is larger than any number, the last. Padding is never the maximum; of nothing it is
 * minus infinity. The maximum is exact. The place is found again in x, there are no indices.
 *
 * y = the mean of each window; and its gradient, dx = for each element the sum over the windows
 * that have it of dy over the mean's divisor. The divisor counts what the window has in the input,
 * with count_padding also what it has in the padding, but never what lies beyond that.
 *
 * Accuracy of sums is that of convolutions, with len the elements of a window or, of a gradient,
 * the windows that an element is in. Adaptive pooling to one element is a mean over the spatial
 * axes, which is a program: "y = mean over z h w of x".
 *
 * y and dx may be the same tensors as operands of their shape. The calls are asynchronous. Return
 * OK; ERR_ARGUMENT for an illegal window; ERR_SHAPE; otherwise as convoy_forward. */
CONVOY_API convoy_status convoy_max_pool(convoy_context *context, const convoy_window *window,
                                         const convoy_tensor *x, convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_max_pool_backward(convoy_context *context,
                                                  const convoy_window *window,
                                                  const convoy_tensor *x, const convoy_tensor *dy,
                                                  convoy_tensor *dx, convoy_run *run);
CONVOY_API convoy_status convoy_average_pool(convoy_context *context, const convoy_window *window,
                                             const convoy_tensor *x, convoy_tensor *y,
                                             convoy_run *run);
CONVOY_API convoy_status convoy_average_pool_backward(convoy_context *context,
                                                      const convoy_window *window,
                                                      const convoy_tensor *dy, convoy_tensor *dx,
                                                      convoy_run *run);

typedef enum convoy_pool {
  CONVOY_MAX_POOL = 0,
  CONVOY_MAX_POOL_BACKWARD = 1,
  CONVOY_AVERAGE_POOL = 2,
  CONVOY_AVERAGE_POOL_BACKWARD = 3
} convoy_pool;
#define CONVOY_POOLS 4

/* Pooling as one line of text, as logs, sentences and reports write it: which, the extents of x,
 * those of the window with the letters of filters, and what differs from CONVOY_WINDOW_INIT, as
 * convoy_parse_problem says:
 *
 *   max_pool n32c64h112w112 r3s3 stride2 pad1
 *   average_pool_backward n8c16w100 s4 stride4 pad0:1 ceil count_padding
 *
 * Writes the extents of x and y, of which those that are not there are left alone. Returns OK;
 * ERR_ARGUMENT with the place of the mistake; ERR_SHAPE. May be called from any thread. */
CONVOY_API convoy_status convoy_parse_pool(const char *text, convoy_pool *what,
                                           convoy_window *window, int64_t *x_shape,
                                           int64_t *y_shape);

/* ------------------------------------------------------------------------------------- moves */

#define CONVOY_BOX_AXES 8

/* A copy between strided views, of which the functions below are cases. y's elements lie in the
 * order of its axes. Along axis a, element k of 0 to count[a] - 1 goes to place begin[a] + step[a]
 * k of y and is taken from x, whose elements are numbered in the order of memory, at
 *
 *   offset + sum over a of stride[a] k[a]
 *
 * The other elements of y become `fill`. Legal are 1 to 8 axes, extent, count and begin >= 0, step
 * >= 1, and any stride: negative ones turn an axis round, with 0 each element comes `count` times.
 * All places must lie within y and within x. Only the first `axes` entries are read. */
typedef struct convoy_box {
  uint32_t struct_size;
  int32_t axes;
  float fill;
  int32_t reserved; /* 0 */
  int64_t offset;
  int64_t extent[CONVOY_BOX_AXES];
  int64_t count[CONVOY_BOX_AXES];
  int64_t begin[CONVOY_BOX_AXES];
  int64_t step[CONVOY_BOX_AXES];
  int64_t stride[CONVOY_BOX_AXES];
} convoy_box;

// clang-format off
#define CONVOY_BOX_INIT(axes_)                                                                  \
  { sizeof(convoy_box), (axes_), 0.0f, 0, 0, {1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, \
    {0}, {1, 1, 1, 1, 1, 1, 1, 1}, {0} }
// clang-format on

/* Carries it out. Extents of tensors are labels here: x and y may have any, as long as y has as
 * many elements as the box's extents make; so tensors of more axes than they have extents are
 * served.
 *
 * x may be of any type, here and in all functions of this section, and its elements count as in
 * programs: int32 rounded where they have more than 24 bits. float32 is moved to the bit. y is
 * float32; it may be the same tensor as x. The calls are asynchronous. Return OK; ERR_ARGUMENT;
 * ERR_SHAPE with the numbers; otherwise as convoy_forward. */
CONVOY_API convoy_status convoy_copy(convoy_context *context, const convoy_box *box,
                                     const convoy_tensor *x, convoy_tensor *y, convoy_run *run);

/* y's axis a is x's axis axes[a]: an entry for each extent of x, each axis once. */
CONVOY_API convoy_status convoy_permute(convoy_context *context, const int32_t *axes,
                                        const convoy_tensor *x, convoy_tensor *y, convoy_run *run);

/* y[i] = x[begin + step i], along each axis, with entries for each. How many there are is said by
 * y's extents, of which there are as many as x has. A step may be negative; with 0 an axis repeats
 * one element. */
CONVOY_API convoy_status convoy_slice(convoy_context *context, const int64_t *begin,
                                      const int64_t *step, const convoy_tensor *x, convoy_tensor *y,
                                      convoy_run *run);

/* What lies around x in y. */
typedef enum convoy_padding {
  CONVOY_PAD_CONSTANT = 0 /* a value */
} convoy_padding;
#define CONVOY_PADDINGS 1

/* x with begin[a] elements in front of it along each axis, and behind it as many as y's extents
 * say. Where that is negative, x is cut off instead. `value` is for CONVOY_PAD_CONSTANT. */
CONVOY_API convoy_status convoy_pad(convoy_context *context, convoy_padding mode,
                                    const int64_t *begin, float value, const convoy_tensor *x,
                                    convoy_tensor *y, convoy_run *run);

/* A copy as one line of text, as logs, sentences and reports write it, with as few axes as can be:
 * x's elements and type, the offset, the strides and y's extents, then where they differ the
 * counts, begins, steps (one number is for all axes) and what is left:
 *
 *   copy x24 by1,4 y4,6
 *   copy x60:uint8 from55 by-20,-5,1 y3,4,7 take3,4,5 at0,0,1 fill-1.5
 *
 * Writes the box, x's type and its number of elements. Returns OK; ERR_ARGUMENT with the place of
 * the mistake; ERR_SHAPE. May be called from any thread. */
CONVOY_API convoy_status convoy_parse_copy(const char *text, convoy_box *box, convoy_dtype *dtype,
                                           int64_t *elements);

/* The inputs side by side along an axis of y: 1 to 12 of them, each with y's extents along the
 * other axes, and along this one together as many as y. One tensor may be several of them. */
CONVOY_API convoy_status convoy_concatenate(convoy_context *context, int32_t axis, int32_t count,
                                            const convoy_tensor *const inputs[], convoy_tensor *y,
                                            convoy_run *run);

/* A concatenation as one line of text: how many images there are, which is all that lies around the
 * axis, and how many elements an image has of each input, with the type where it is another than
 * float32:
 *
 *   concatenate n16 w102400,51200
 *   concatenate n1 w30:uint8,10,30:int32
 *
 * Writes the number of inputs, and for each its type and its extents as those of an array with two,
 * along whose second axis they lie side by side; 12 entries each. Returns OK; ERR_ARGUMENT with the
 * place of the mistake; ERR_SHAPE. May be called from any thread. */
CONVOY_API convoy_status convoy_parse_concatenate(const char *text, int32_t *count,
                                                  convoy_dtype *dtypes,
                                                  int64_t shapes[][CONVOY_MAX_DIMS]);

/* --------------------------------------------------------------------------------- resampling */

/* Where element o of y lies in x along an axis, with s the step, the ratio of x's extent to y's:
 *
 *   NEAREST          x[floor(o s)]
 *   NEAREST_EXACT    x[floor((o + 1/2) s)]
 *   LINEAR           between x's elements beside p = max((o + 1/2) s - 1/2, 0): with l = floor(p),
 *                    (1 - p + l) x[l] + (p - l) x[l + 1]
 *   LINEAR_ALIGNED   the same with p = o (x's extent - 1) / (y's extent - 1), 0 for one element
 *
 * No place is behind the last element. Along several axes weights are multiplied. Positions and
 * steps are float32, as in torch.nn.functional.interpolate, and so are the elements that it
 * takes. */
typedef enum convoy_interpolation {
  CONVOY_NEAREST = 0,
  CONVOY_NEAREST_EXACT = 1,
  CONVOY_LINEAR = 2,
  CONVOY_LINEAR_ALIGNED = 3
} convoy_interpolation;
#define CONVOY_INTERPOLATIONS 4

/* How spatial axes are resampled. Of scale the first `rank` entries count, 1 to 3: above 0, the
 * step is 1 / scale, whatever the extents are; 0 is the ratio of the extents. LINEAR_ALIGNED does
 * not look at it. */
typedef struct convoy_resampling {
  uint32_t struct_size;
  int32_t rank;
  int32_t mode;     /* convoy_interpolation */
  int32_t reserved; /* 0 */
  double scale[CONVOY_MAX_RANK];
} convoy_resampling;

#define CONVOY_RESAMPLING_INIT(rank_)                        \
  {                                                          \
    sizeof(convoy_resampling), (rank_), CONVOY_NEAREST, 0, { \
      0.0, 0.0, 0.0                                          \
    }                                                        \
  }

/* y = x resampled, and its gradient, dx = for each element the sum of dy times the weight that the
 * element has in it. x and y have the same batch and channels, and any spatial extents. Nearest
 * elements are exact; sums have the accuracy of convolutions, with len the elements of x, or of dy,
 * that they go over. The calls are asynchronous. Return OK; ERR_ARGUMENT; ERR_SHAPE; otherwise as
 * convoy_forward. */
CONVOY_API convoy_status convoy_resample(convoy_context *context, const convoy_resampling *how,
                                         const convoy_tensor *x, convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_resample_backward(convoy_context *context,
                                                  const convoy_resampling *how,
                                                  const convoy_tensor *dy, convoy_tensor *dx,
                                                  convoy_run *run);

/* Resampling as one line of text: nearest or linear, perhaps backward; the extents of x and the
 * spatial ones of y; exact or aligned; and the steps where a scale was given, as the shortest
 * numbers that float32 tells apart:
 *
 *   resample_nearest n16c256h20w20 h40w40
 *   resample_linear_backward n4c8w100 w77 aligned
 *   resample_nearest n1c3h10w10 h21w17 exact step0.47619048,0.5714286
 *
 * Writes whether it is the gradient, how it is done, and the extents of x and y. Returns OK;
 * ERR_ARGUMENT with the place of the mistake; ERR_SHAPE. May be called from any thread. */
CONVOY_API convoy_status convoy_parse_resample(const char *text, int32_t *backward,
                                               convoy_resampling *how, int64_t *x_shape,
                                               int64_t *y_shape);

#ifdef __cplusplus
}
#endif
#endif
