/* The algorithms of the CPU engine: what a row is, and which there are. */
#ifndef CVY_CPU_ROW_H
#define CVY_CPU_ROW_H

#include "backend.h"
#include "base/build_config.h"
#include "cpu/isa/simd.h"
#include "cpu/threads/threads.h"

/* What a run gets. It cannot fail, because all it needs is there: memory was found before. */
typedef struct cvy_cpu_call {
  const cvy_problem *problem;
  const cvy_params *params;
  const cvy_facts *facts;
  const float *in[CVY_MAX_INPUTS]; /* as the operation's row says, the others NULL */
  float *out[CVY_MAX_OUTPUTS];
  cvy_threads *threads;
  const cvy_simd *simd;
  void *workspace; /* as many bytes as the algorithm's workspace() said, aligned to 64 */
} cvy_cpu_call;

typedef struct cvy_cpu_row {
  cvy_algorithm algorithm; /* comes first: the table lists these, the backend casts back */
  void (*run)(const cvy_cpu_call *call);
} cvy_cpu_row;

/* table.c: the preferred row comes first, the list ends with NULL. Each is the first member of a
 * cvy_cpu_row. */
extern const cvy_algorithm *const cvy_cpu_algorithms[];

/* The one list of the algorithms, preferred first: each has a row cvy_cpu_NAME. */
#if CONVOY_HAVE_OPENBLAS
#define CVY_CPU_BLAS_ROW(ROW, name) ROW(name)
#else
#define CVY_CPU_BLAS_ROW(ROW, name)
#endif

#define CVY_CPU_ROWS(ROW)            \
  ROW(fully_connected)               \
  ROW(depthwise)                     \
  ROW(winograd)                      \
  ROW(inner_products)                \
  ROW(pool)                          \
  ROW(copy)                          \
  ROW(concatenate)                   \
  ROW(resample)                      \
  ROW(implicit_gemm)                 \
  CVY_CPU_BLAS_ROW(ROW, im2col)      \
  CVY_CPU_BLAS_ROW(ROW, matmul_blas) \
  ROW(direct)                        \
  ROW(program)                       \
  ROW(reduce)                        \
  ROW(matmul)

#define CVY_CPU_DECLARE(name) extern const cvy_cpu_row cvy_cpu_##name;
CVY_CPU_ROWS(CVY_CPU_DECLARE)

#endif
