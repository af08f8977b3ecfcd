/* What kernels are given: parts of device arrays. */
#ifndef CVY_OCL_ENGINE_BINDINGS_H
#define CVY_OCL_ENGINE_BINDINGS_H

#include "ocl/engine/arena.h"
#include "ocl/engine/opencl/errors.h"

/* Part of a device array. */
typedef struct span {
  cl_mem memory;
  int64_t at; /* floats */
} span;

/* The four arrays every kernel takes; an absent one has memory NULL. */
typedef struct bindings {
  span a, b, bias, out;
} bindings;

static inline span span_of(const arena_piece *piece) {
  return (span){piece->memory, piece->at / (int64_t)sizeof(float)};
}

#endif
