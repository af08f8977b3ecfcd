/* The algorithms of the CPU engine. The preferred one comes first. */
#include "base/build_config.h"
#include "cpu/row.h"

const cvy_algorithm *const cvy_cpu_algorithms[] = {
    &cvy_cpu_fully_connected.algorithm,
    &cvy_cpu_depthwise.algorithm,
    &cvy_cpu_winograd.algorithm,
    &cvy_cpu_inner_products.algorithm,
    &cvy_cpu_pool.algorithm,
    &cvy_cpu_copy.algorithm,
    &cvy_cpu_concatenate.algorithm,
    &cvy_cpu_resample.algorithm,
    &cvy_cpu_implicit_gemm.algorithm,
#if CONVOY_HAVE_OPENBLAS
    &cvy_cpu_im2col.algorithm,
    &cvy_cpu_matmul_blas.algorithm,
#endif
    &cvy_cpu_direct.algorithm,
    &cvy_cpu_program.algorithm,
    &cvy_cpu_reduce.algorithm,
    &cvy_cpu_matmul.algorithm,
    NULL,
};
