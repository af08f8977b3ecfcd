/* What CLBlast's products need of a device. */
#include "ocl/clblast.h"

/* CLBlast's tuned kernels pad matrices to multiples of this at most on the devices that
 * it knows. */
#define PADDED_TO 128
/* Its kernels have work-groups of eight by eight items at least, whatever the device can do. */
#define LEAST_ITEMS 64

int64_t cvy_ocl_clblast_scratch(int64_t m, int64_t n, int64_t k) {
  m = cvy_ocl_round_up(m, PADDED_TO);
  n = cvy_ocl_round_up(n, PADDED_TO);
  k = cvy_ocl_round_up(k, PADDED_TO);
  return m * k + m * n + k * n;
}

bool cvy_ocl_clblast_runs(const cvy_facts *facts, cvy_text *reason) {
  if (facts->runtime != CVY_RUNTIME_OPENCL) {
    cvy_text_add(reason, "CLBlast works through OpenCL, which this device is not reached through");
    return false;
  }
  if (facts->max_work_group >= LEAST_ITEMS) return true;
  cvy_text_add(reason, "work-groups have at most %lld items here, CLBlast needs %d",
               (long long)facts->max_work_group, LEAST_ITEMS);
  return false;
}
