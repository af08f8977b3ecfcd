/* Where OpenBLAS is faster than the engine's own loops, measured with vectors of the engine's own
 * width (docs/measurements/cpu.md). */
#include "cpu/shared/blas_choice.h"

#include "base/build_config.h"
#include "cpu/blas/gemm.h"
#include "cpu/row.h"
#include "cpu/shared/sizes.h"
#include "problem/conv/conv.h"

#define AVX2_WIDTH 8
#define AVX512_WIDTH 16
#define LARGE_1X1 128    /* sums for each place, of which 1x1 is a matter of memory */
#define LARGE_SUMS 65536 /* of backward_weights with a stride, whose x is unfolded for BLAS */

static bool is_faster(const cvy_problem *p) {
  int64_t taps = cvy_filter_volume(p);
  bool strided = cvy_conv_strided(p);
  if (p->operation == CONVOY_BACKWARD_WEIGHTS)
    return taps == 1 || (strided && p->conv.c * p->conv.k * taps >= LARGE_SUMS);
  return p->operation == CONVOY_BACKWARD_DATA && taps == 1 && strided;
}

/* With AVX-512 it is for few problems. */
static bool is_faster_wide(const cvy_problem *p) {
  return p->operation == CONVOY_BACKWARD_WEIGHTS && cvy_filter_volume(p) == 1 &&
         p->conv.c * p->conv.k > cvy_saturating_mul(LARGE_1X1, p->conv.n * cvy_out_volume(p));
}

static bool has_width(int64_t width) {
#if CONVOY_HAVE_OPENBLAS
  return cvy_gemm_has_width(width);
#else
  (void)width;
  return false;
#endif
}

#if CONVOY_HAVE_OPENBLAS
bool cvy_cpu_blas_runs(const cvy_facts *facts, cvy_text *reason) {
  return cvy_gemm_serves(facts->info.compute_units, reason);
}
#endif

bool cvy_cpu_blas_serves(const cvy_problem *problem, const cvy_facts *facts) {
#if CONVOY_HAVE_OPENBLAS
  char unread[192];
  cvy_text refusal = cvy_text_in(unread, sizeof unread);
  return cvy_gemm_has_width(cvy_min(cvy_simd_best()->microkernel.width, AVX2_WIDTH)) &&
         cvy_cpu_im2col.algorithm.accepts(problem, facts, &refusal);
#else
  (void)problem;
  (void)facts;
  return false;
#endif
}

bool cvy_cpu_blas_is_faster(const cvy_problem *problem, const cvy_facts *facts) {
  int64_t width = cvy_simd_best()->microkernel.width;
  bool faster = width == AVX2_WIDTH     ? is_faster(problem)
                : width == AVX512_WIDTH ? is_faster_wide(problem) && has_width(AVX512_WIDTH)
                                        : false;
  return faster && problem->conv.groups == 1 && cvy_cpu_blas_serves(problem, facts);
}
