/* Jobs, as backend.h says. */
#ifndef CVY_OCL_ENGINE_RUN_H
#define CVY_OCL_ENGINE_RUN_H

#include "ocl/engine/captured.h"

/* ERR_UNSUPPORTED unless the job's algorithm takes its problem with its parameters. */
convoy_status job_check(const cvy_device *device, const cvy_job *job);
void job_sizes_of(const cvy_problem *problem, job_sizes *out);
/* Launches a job on these arrays, as it was captured where `known` is not NULL and serves; else
 * *captured becomes what can be kept of it, to be freed, or NULL. */
convoy_status job_launch(cvy_device *device, const cvy_job *job, const captured_job *known,
                         const job_sizes *sizes, job_arrays *arrays, captured_job **captured);

convoy_status engine_run(cvy_device *device, const cvy_command *command);
convoy_status engine_build(cvy_device *device, const cvy_command *command);
convoy_status engine_prepare(cvy_device *device, const cvy_command *command);

#endif
