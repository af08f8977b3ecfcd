/* The only file that calls CLBlast. */
#include "ocl/engine/clblast.h"

#include "ocl/engine/algorithms.h"
#include "ocl/engine/capture.h"
#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"
#include "ocl/engine/opencl/errors.h"
#include "ocl/engine/opencl/memory.h"
#include "ocl/engine/opencl/queue.h"
#include "ocl/plan.h"

/* CLBlast's header sets this for itself. */
#undef CL_TARGET_OPENCL_VERSION
#include <clblast_c.h>

/* Fewer columns would leave a card's units idle. */
#define COLUMNS_LEAST 128

static convoy_status fail_clblast(CLBlastStatusCode code) {
  if (code >= CLBlastInvalidLocalMemUsage || code <= -1024)
    return cvy_fail(CONVOY_ERR_DEVICE, "CLBlast's GEMM failed with its own status %d", (int)code);
  return opencl_fail((cl_int)code, "CLBlast's GEMM");
}

static CLBlastTranspose transpose(const clblast_matrix *m) {
  return m->transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* It compiles when it sees the need, and makes temporary memory where it is given none. */
static convoy_status multiply_once(const clblast_products *products, int64_t m, int64_t n,
                                   int64_t k, clblast_matrix a, clblast_matrix b, clblast_matrix c,
                                   float beta) {
  cvy_device *device = products->device;
  if (device->programs.dry_run) return CONVOY_OK;
  capture_invalidate(device);
  cl_command_queue queue = device->queue->commands;
  size_t needed = 0;
  CLBlastStatusCode code = CLBlastSGemmTempBufferSize(
      CLBlastLayoutRowMajor, transpose(&a), transpose(&b), (size_t)m, (size_t)n, (size_t)k,
      (size_t)a.at.at, (size_t)a.pitch, (size_t)b.at.at, (size_t)b.pitch, (size_t)c.at.at,
      (size_t)c.pitch, &queue, &needed);
  if (code != CLBlastSuccess) return fail_clblast(code);
  cl_mem temporary =
      needed > 0 && (int64_t)needed <= products->bytes ? (cl_mem)products->temporary : NULL;
  cvy_phase before = observer_phase(CVY_PHASE_LIBRARY);
  cl_event done = NULL;
  code = CLBlastSgemmWithTempBuffer(CLBlastLayoutRowMajor, transpose(&a), transpose(&b), (size_t)m,
                                    (size_t)n, (size_t)k, 1.0f, (cl_mem)a.at.memory,
                                    (size_t)a.at.at, (size_t)a.pitch, (cl_mem)b.at.memory,
                                    (size_t)b.at.at, (size_t)b.pitch, beta, (cl_mem)c.at.memory,
                                    (size_t)c.at.at, (size_t)c.pitch, &queue, &done, temporary);
  observer_phase(before);
  if (done) completion_add(device, (runtime_event *)done, 0, &device->completion.unmeasured);
  return code == CLBlastSuccess ? CONVOY_OK : fail_clblast(code);
}

/* Columns of c that a slow card computes in device->longest_launch seconds. What was measured has
 * no say, as CLBlast takes other kernels for other sizes, and the same call has to give the same
 * bits. */
static int64_t columns_at_once(const cvy_device *device, int64_t m, int64_t k) {
  double most = SLOW_RATE * device->longest_launch / (2.0 * (double)m * (double)k);
  if (!(most < (double)INT32_MAX)) return INT32_MAX;
  return most > COLUMNS_LEAST ? (int64_t)most / COLUMNS_LEAST * COLUMNS_LEAST : COLUMNS_LEAST;
}

convoy_status clblast_multiply(const clblast_products *products, int64_t m, int64_t n, int64_t k,
                               clblast_matrix a, clblast_matrix b, clblast_matrix c, float beta) {
  int64_t most = columns_at_once(products->device, m, k);
  convoy_status status = CONVOY_OK;
  for (int64_t done = 0; !status && done < n; done += most) {
    int64_t left = n - done;
    status = multiply_once(products, m, left < most ? left : most, k, a, b, c, beta);
    b.at.at += b.transposed ? most * b.pitch : most;
    c.at.at += most;
  }
  return status;
}

/* CLBlast takes no offset: its part of the workspace becomes a buffer of its own. */
convoy_status clblast_products_open(cvy_device *device, span scratch, int64_t floats,
                                    clblast_products *out) {
  *out = (clblast_products){.device = device};
  if (device->programs.dry_run) return CONVOY_OK;
  int64_t align = device->traits.alignment / (int64_t)sizeof(float);
  int64_t start = cvy_ocl_round_up(scratch.at, align > 1 ? align : 1);
  out->bytes = (scratch.at + floats - start) * (int64_t)sizeof(float);
  if (out->bytes <= 0) return CONVOY_OK;
  int32_t code;
  out->temporary =
      opencl_memory_part(scratch.memory, (size_t)start * sizeof(float), (size_t)out->bytes, &code);
  return out->temporary ? CONVOY_OK : opencl_fail(code, "CLBlast's part of the workspace");
}

void clblast_products_close(clblast_products *products) {
  if (products->temporary) opencl_memory_release(products->device->queue, products->temporary);
  products->temporary = NULL;
}

void clblast_close(void) {
  CLBlastClearCache();
}
