/* What NVIDIA's OpenCL compiles is a text, PTX, that CUDA's driver takes too, but for what it reads
 * of OpenCL's launches. */
#ifndef CVY_OCL_ENGINE_CUDA_PTX_H
#define CVY_OCL_ENGINE_CUDA_PTX_H

#include "base/base.h"

/* Writes 0 in the place of the registers %envreg0 to 5, in which OpenCL's driver has the offsets of
 * groups and items, which launches of the engine do not have; CUDA's has something else there. A
 * text that reads another one of these registers is refused: nothing is known of it. What is no
 * PTX stays as it is. */
convoy_status cuda_ptx_prepare(char *text);

#endif
