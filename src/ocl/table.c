/* The OpenCL algorithms, preferred first.
 *
 * One order serves all operations of convolution: what is made for a few problems goes first, the
 * tiled product refuses what is too thin for tiles, CLBlast takes what is long in the summed
 * direction only, the definition takes the rest. Moves, pooling, resampling, programs and
 * reductions have a row each. */
#include "base/build_config.h"
#include "ocl/concatenate.h"
#include "ocl/copy.h"
#include "ocl/depthwise.h"
#include "ocl/direct.h"
#include "ocl/few_channels.h"
#include "ocl/fully_connected.h"
#include "ocl/im2col_clblast.h"
#include "ocl/implicit_gemm.h"
#include "ocl/long_rows.h"
#include "ocl/matmul.h"
#include "ocl/matmul_clblast.h"
#include "ocl/pool.h"
#include "ocl/program.h"
#include "ocl/reduce.h"
#include "ocl/resample.h"
#include "ocl/strided_data.h"
#include "ocl/winograd.h"

const cvy_algorithm *const cvy_ocl_algorithms[] = {
#if CONVOY_HAVE_OPENCL
    &cvy_ocl_depthwise,
    &cvy_ocl_fully_connected,
    &cvy_ocl_long_rows,
    &cvy_ocl_few_channels,
    &cvy_ocl_winograd,
    &cvy_ocl_strided_data,
    &cvy_ocl_implicit_gemm,
#if CONVOY_HAVE_CLBLAST
    &cvy_ocl_im2col_clblast,
#endif
    &cvy_ocl_matmul,
#if CONVOY_HAVE_CLBLAST
    &cvy_ocl_matmul_clblast,
#endif
    &cvy_ocl_pool,
    &cvy_ocl_copy,
    &cvy_ocl_concatenate,
    &cvy_ocl_resample,
    &cvy_ocl_program,
    &cvy_ocl_reduce,
    &cvy_ocl_direct,
#endif
    NULL,
};
