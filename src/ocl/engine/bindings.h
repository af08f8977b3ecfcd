/* Parts of device arrays, which kernels are given. */
#ifndef CVY_OCL_ENGINE_BINDINGS_H
#define CVY_OCL_ENGINE_BINDINGS_H

#include "ocl/engine/arena.h"
#include "ocl/engine/runtime/runtime.h"
#include "problem/problem.h"

/* The arrays that a job's launches are given: its own, its workspace, and a prepacked operand made
 * of input 1. */
enum {
  ORIGIN_NONE,
  ORIGIN_IN,
  ORIGIN_OUT = ORIGIN_IN + CVY_MAX_INPUTS,
  ORIGIN_SCRATCH = ORIGIN_OUT + CVY_MAX_OUTPUTS,
  ORIGIN_FORM,
  ORIGINS
};

/* Part of a device array, and which of a job's arrays that is: what is launched for the job can be
 * launched for another one with arrays elsewhere. Arrays begin at multiples of CONV_ALIGN floats,
 * those of bytes too. */
typedef struct span {
  runtime_memory *memory;
  int64_t at;     /* floats */
  int32_t origin; /* ORIGIN_NONE: none of a job's */
} span;

/* The arrays of a job, in the order of its operation's row; an absent one has memory NULL. */
typedef union job_arrays {
  struct {
    span none, in[CVY_MAX_INPUTS], out[CVY_MAX_OUTPUTS], scratch, form;
  };
  span origin[ORIGINS];
} job_arrays;

/* How many arrays a job has, and their bytes. */
typedef struct job_sizes {
  int32_t inputs, outputs;
  int64_t in[CVY_MAX_INPUTS], out[CVY_MAX_OUTPUTS];
} job_sizes;

static inline span span_of(const arena_piece *piece, int32_t origin) {
  return (span){piece->memory, piece->at / (int64_t)sizeof(float), origin};
}

/* The same from `floats` further on. */
static inline span span_behind(span from, int64_t floats) {
  return (span){from.memory, from.at + floats, from.origin};
}

#endif
