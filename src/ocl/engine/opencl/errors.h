/* OpenCL's own header, for the version that the engine keeps to, and its error codes.
 *
 * The files of this folder make all of the engine's calls of OpenCL, but for those around
 * CLBlast. */
#ifndef CVY_OCL_ENGINE_OPENCL_ERRORS_H
#define CVY_OCL_ENGINE_OPENCL_ERRORS_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/base.h"

const char *opencl_error_name(int32_t code);
convoy_status opencl_fail(int32_t code, const char *what);

#endif
