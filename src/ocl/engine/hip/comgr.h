/* AMD's compiler as a library, libamd_comgr, which comes with HIP: OpenCL C to code objects where
 * no OpenCL is installed. It is loaded at run time. */
#ifndef CVY_OCL_ENGINE_HIP_COMGR_H
#define CVY_OCL_ENGINE_HIP_COMGR_H

#include "ocl/engine/runtime/runtime.h"

/* Whether it is there; its version changes *hash. */
bool comgr_is_there(uint64_t *hash);
/* A code object, malloc'ed, for an instruction set such as "amdgcn-amd-amdhsa--gfx1010:xnack-".
 * Fails with what the compiler says. */
convoy_status comgr_compile(const char *isa, const program_source *source, const char *options,
                            void **object, size_t *bytes);

#endif
