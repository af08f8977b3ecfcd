/* Reductions of programs on the CPU engine: with all threads, the values of a piece never leaving
 * the cache, in the order of program/reduce.h. To be called as cvy_program_apply_arrays is; results
 * may not lie where inputs do. */
#ifndef CVY_CPU_PROGRAM_REDUCE_H
#define CVY_CPU_PROGRAM_REDUCE_H

#include "cpu/program/apply.h"

typedef struct cvy_reduce_call {
  const cvy_reduce_problem *problem;
  const void *in[CVY_PROGRAM_INPUTS];
  float *out[CVY_PROGRAM_RESULTS];
  cvy_threads *threads;
  const cvy_program_simd *simd;
  void *workspace; /* aligned to 64 */
} cvy_reduce_call;

int64_t cvy_reduce_arrays_workspace(const cvy_reduce_problem *problem, int32_t threads);
void cvy_reduce_arrays(const cvy_reduce_call *call);

#endif
