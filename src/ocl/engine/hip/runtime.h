/* HIP as a runtime. */
#ifndef CVY_OCL_ENGINE_HIP_RUNTIME_H
#define CVY_OCL_ENGINE_HIP_RUNTIME_H

#include "ocl/engine/runtime/runtime.h"

extern const runtime hip_runtime;

#endif
