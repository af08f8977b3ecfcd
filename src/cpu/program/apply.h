/* Programs over arrays on the CPU engine: with all threads, in blocks that stay in the first-level
 * cache, inputs broadcast without being written out.
 *
 * To be called as rows of the engine are (cpu.c): in the floating-point mode of
 * cvy_denormals_flush(), with memory found before, for a problem that cvy_program_problem_check
 * accepts. A result may lie exactly where an input of the same strides and 4-byte elements does. */
#ifndef CVY_CPU_PROGRAM_APPLY_H
#define CVY_CPU_PROGRAM_APPLY_H

#include "cpu/program/simd.h"
#include "cpu/threads/threads.h"
#include "program/problem.h"

typedef struct cvy_program_call {
  const cvy_program_problem *problem;
  const void *in[CVY_PROGRAM_INPUTS]; /* where element 0 0 0 0 0 is */
  float *out[CVY_PROGRAM_RESULTS];
  cvy_threads *threads;
  const cvy_program_simd *simd;
  void *workspace; /* aligned to 64 */
} cvy_program_call;

/* Bytes of workspace. */
int64_t cvy_program_apply_workspace(const cvy_program_problem *problem, int32_t threads);
void cvy_program_apply_arrays(const cvy_program_call *call);

#endif
