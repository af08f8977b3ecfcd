/* CUDA's driver as a runtime. */
#ifndef CVY_OCL_ENGINE_CUDA_RUNTIME_H
#define CVY_OCL_ENGINE_CUDA_RUNTIME_H

#include "ocl/engine/runtime/runtime.h"

extern const runtime cuda_runtime;

#endif
