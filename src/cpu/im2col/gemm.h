/* Matrix products by OpenBLAS, one thread each, callable from any number of threads. */
#ifndef CVY_CPU_IM2COL_GEMM_H
#define CVY_CPU_IM2COL_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* A row-major matrix operand; `pitch` floats from row to row of the array as it lies. */
typedef struct cvy_matrix {
  const float *at;
  int64_t pitch;
  bool transposed; /* the array is the transpose of the operand */
} cvy_matrix;

#define CVY_GEMM_LARGEST INT32_MAX /* of any extent or pitch */

/* c [m][n] = a [m][k] b [k][n] + (add ? c : 0); without add, c is not read. Products run at the
 * same time with the OpenMP build of OpenBLAS, one after another with others. */
void cvy_gemm(int64_t m, int64_t n, int64_t k, cvy_matrix a, cvy_matrix b, bool add, float *c,
              int64_t c_pitch);

/* Version, core and build of the library in use. */
const char *cvy_gemm_config(void);

#endif
