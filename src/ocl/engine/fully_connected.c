/* Launches ocl.fully_connected. */
#include "ocl/fully_connected.h"

#include "ocl/engine/algorithms.h"
#include "ocl/engine/device.h"

convoy_status run_fully_connected(cvy_device *device, const cvy_job *job, const job_arrays *given,
                                  span scratch) {
  cvy_job product = {0};
  cvy_ocl_fully_connected_product(&job->problem, &device->facts, &product.problem, &product.params);
  return run_matmul(device, &product, given, scratch);
}
