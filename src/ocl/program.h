/* ocl.program: elementwise programs over arrays, by a generated kernel (ocl/program_kernel.h). */
#ifndef CVY_OCL_PROGRAM_H
#define CVY_OCL_PROGRAM_H

#include "ocl/rows.h"

/* How far behind the start of a device's memory the operands of a program or reduction may begin,
 * in elements, and then its partial results, so many floats: how wide the words of generated
 * kernels must be depends on it. */
void cvy_ocl_farthest_offsets(const cvy_problem *problem, const cvy_facts *facts, int64_t partial,
                              int64_t *offsets);

#endif
