/* An algorithm of the CPU engine: a row of src/cpu/table.c. */
#ifndef CVY_CPU_ROW_H
#define CVY_CPU_ROW_H

#include "backend.h"
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

extern const cvy_cpu_row cvy_cpu_depthwise;
extern const cvy_cpu_row cvy_cpu_direct;
extern const cvy_cpu_row cvy_cpu_fully_connected;
extern const cvy_cpu_row cvy_cpu_implicit_gemm;
extern const cvy_cpu_row cvy_cpu_inner_products;
extern const cvy_cpu_row cvy_cpu_matmul;
extern const cvy_cpu_row cvy_cpu_concatenate;
extern const cvy_cpu_row cvy_cpu_copy;
extern const cvy_cpu_row cvy_cpu_pool;
extern const cvy_cpu_row cvy_cpu_resample;
extern const cvy_cpu_row cvy_cpu_winograd;
extern const cvy_cpu_row cvy_cpu_im2col;      /* only there with OpenBLAS, */
extern const cvy_cpu_row cvy_cpu_matmul_blas; /* this too */
extern const cvy_cpu_row cvy_cpu_program;
extern const cvy_cpu_row cvy_cpu_reduce;

#endif
