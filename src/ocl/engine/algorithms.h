/* The launch code of each algorithm. */
#ifndef CVY_OCL_ENGINE_ALGORITHMS_H
#define CVY_OCL_ENGINE_ALGORITHMS_H

#include "ocl/engine/launch.h"

/* Enqueues a job; `scratch` is its workspace, as large as the algorithm asked for. */
typedef convoy_status launch_fn(cvy_device *device, const cvy_job *job, const job_arrays *arrays,
                                span scratch);
launch_fn run_direct, run_depthwise, run_im2col_clblast, run_implicit_gemm, run_strided_data,
    run_few_channels, run_long_rows, run_winograd, run_program, run_reduce, run_matmul,
    run_matmul_clblast, run_pool, run_copy, run_concatenate, run_resample, run_fully_connected;

/* CLBlast keeps programs of its own. Without CLBlast there is nothing to close. */
void clblast_close(void);

#endif
