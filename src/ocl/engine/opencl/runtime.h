/* OpenCL as a runtime. */
#ifndef CVY_OCL_ENGINE_OPENCL_RUNTIME_H
#define CVY_OCL_ENGINE_OPENCL_RUNTIME_H

#include "ocl/engine/runtime/runtime.h"

extern const runtime opencl_runtime;

#endif
