/* Matrix products by OpenBLAS. Each takes one thread, and any number of threads may ask for one. */
#ifndef CVY_CPU_BLAS_GEMM_H
#define CVY_CPU_BLAS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* A row-major operand. From row to row of the array as it lies there are `pitch` floats. */
typedef struct cvy_matrix {
  const float *at;
  int64_t pitch;
  bool transposed; /* the array is the transpose of the operand */
} cvy_matrix;

#define CVY_GEMM_LARGEST INT32_MAX /* extent or pitch */

/* Whether so many threads can all be at a product at once. A row of the table that calls cvy_gemm
 * asks before it accepts a problem (docs/decisions/005): the OpenMP build of OpenBLAS serves any
 * number, others one. If not, adds the reason. */
bool cvy_gemm_serves(int32_t threads, cvy_text *reason);

/* c [m][n] = a [m][k] b [k][n] + (add ? c : 0). Without add, c is not read. Where only one call can
 * be inside, those of several contexts of one thread each wait for each other. */
void cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add, float *c,
              int64_t c_pitch);

/* Version, core and build of the library in use. */
const char *cvy_gemm_config(void);

/* Adds in words which library it is, and whether so many threads with vectors of so many floats
 * leave products to it or why not. */
void cvy_gemm_describe(int32_t threads, int64_t width, cvy_text *words);

/* Whether the library computes with vectors of so many floats. One that is older than the processor
 * takes it for another: 0.3.21 has SSE for Emerald Rapids, a sixth of what that can do. */
bool cvy_gemm_has_width(int64_t width);

#endif
