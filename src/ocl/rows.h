/* The one list of the OpenCL algorithms, preferred first: ocl/NAME.c says what each accepts, in
 * cvy_ocl_NAME, and ocl/engine/NAME.c launches it, by run_NAME.
 *
 * One order serves all operations of convolution: what is made for a few problems goes first, the
 * tiled product refuses what is too thin for tiles, CLBlast takes what is long in the summed
 * direction only, the definition takes the rest. Moves, pooling, resampling, programs and
 * reductions have a row each. */
#ifndef CVY_OCL_ROWS_H
#define CVY_OCL_ROWS_H

#include "backend.h"
#include "base/build_config.h"

#if CONVOY_HAVE_CLBLAST
#define CVY_OCL_CLBLAST_ROW(ROW, name) ROW(name)
#else
#define CVY_OCL_CLBLAST_ROW(ROW, name)
#endif

#define CVY_OCL_ROWS(ROW)                  \
  ROW(depthwise)                           \
  ROW(fully_connected)                     \
  ROW(long_rows)                           \
  ROW(few_channels)                        \
  ROW(winograd)                            \
  ROW(strided_data)                        \
  ROW(implicit_gemm)                       \
  CVY_OCL_CLBLAST_ROW(ROW, im2col_clblast) \
  ROW(matmul)                              \
  CVY_OCL_CLBLAST_ROW(ROW, matmul_clblast) \
  ROW(pool)                                \
  ROW(copy)                                \
  ROW(concatenate)                         \
  ROW(resample)                            \
  ROW(program)                             \
  ROW(reduce)                              \
  ROW(direct)

#define CVY_OCL_DECLARE(name) extern const cvy_algorithm cvy_ocl_##name;
CVY_OCL_ROWS(CVY_OCL_DECLARE)

#endif
