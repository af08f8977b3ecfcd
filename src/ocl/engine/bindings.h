/* What kernels are given: parts of device arrays. */
#ifndef CVY_OCL_ENGINE_BINDINGS_H
#define CVY_OCL_ENGINE_BINDINGS_H

#include "ocl/engine/arena.h"
#include "ocl/engine/opencl/errors.h"
#include "problem/problem.h"

/* Part of a device array. */
typedef struct span {
  cl_mem memory;
  int64_t at; /* floats */
} span;

/* The arrays of a job, in the order of its operation's row; an absent one has memory NULL. */
typedef struct job_arrays {
  span in[CVY_MAX_INPUTS], out[CVY_MAX_OUTPUTS];
} job_arrays;

/* The four arrays every kernel of a convolution takes; an absent one has memory NULL. */
typedef struct bindings {
  span a, b, bias, out;
} bindings;

static inline bindings bindings_of(const job_arrays *arrays) {
  return (bindings){arrays->in[0], arrays->in[1], arrays->in[2], arrays->out[0]};
}

static inline span span_of(const arena_piece *piece) {
  return (span){piece->memory, piece->at / (int64_t)sizeof(float)};
}

#endif
