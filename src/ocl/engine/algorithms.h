/* The launch code of each algorithm. */
#ifndef CVY_OCL_ENGINE_ALGORITHMS_H
#define CVY_OCL_ENGINE_ALGORITHMS_H

#include "ocl/engine/launch.h"
#include "ocl/rows.h"

/* Enqueues a job; `scratch` is its workspace, as large as the algorithm asked for. */
typedef convoy_status launch_fn(cvy_device *device, const cvy_job *job, const job_arrays *arrays,
                                span scratch);
#define DECLARE_LAUNCH(name) launch_fn run_##name;
CVY_OCL_ROWS(DECLARE_LAUNCH)

/* CLBlast keeps programs of its own. Without CLBlast there is nothing to close. */
void clblast_close(void);

#endif
