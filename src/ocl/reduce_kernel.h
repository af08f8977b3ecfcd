/* The OpenCL kernels of a reduction (program/reduce.h): one that reduces pieces, and if there are
 * several, one that puts them together. Source, arguments and options as for programs over arrays
 * (ocl/program_kernel.h).
 *
 * With lanes, a work-group has a piece of one result: 64 items of four lanes each, or 256 of one
 * where rows are not aligned for vectors. An item loads the 8 elements of a group before it uses
 * them, and the lanes meet in local memory once, at the end. Without, an item has a piece of one
 * result, or of four neighbouring ones. */
#ifndef CVY_OCL_REDUCE_KERNEL_H
#define CVY_OCL_REDUCE_KERNEL_H

#include "ocl/kernel_block.h"
#include "program/reduce.h"

enum {
  CVY_REDUCE_COMBINE = 64,
  CVY_REDUCE_LOCAL_BYTES =
      3 * CVY_REDUCE_LANES * 4 /* of local memory, of either kernel with lanes */
};

typedef struct cvy_reduce_launch {
  int32_t width;
  bool placed;
  int32_t group; /* items of a work-group of "reduce", 64 or 256: it must be this size */
  bool local;    /* one of the kernels uses CVY_REDUCE_LOCAL_BYTES */
  int64_t items; /* of "reduce", in whole work-groups; 0: nothing is to be done */
  /* Of "combine", one per result, in work-groups of any size; 0: it is not needed, and "reduce"
   * writes results. */
  int64_t combined;
  int64_t partial; /* floats between the two, which begin at a multiple of four */
  char options[64];
  cvy_kernel_block block;
} cvy_reduce_launch;

/* Floats of partial results; 0: there is one piece. */
int64_t cvy_reduce_partial(const cvy_reduce_problem *problem);

/* Appends the source. To compile: the sources cvy_cl_program_words, _functions, _random if
 * `placed`, _arrays, cvy_cl_reduce_functions, cvy_cl_program_reduce, then this one. Arguments of
 * "reduce": the block, all inputs, then partial results or, where there is no "combine", all
 * results. Of "combine": the block, partial results, all results. `offsets` has one more behind the
 * results', of partial results, if there are any. */
convoy_status cvy_reduce_launch_of(const cvy_reduce_problem *problem, const int64_t *offsets,
                                   cvy_text *source, cvy_reduce_launch *out);
/* The sizes alone, without writing anything: false, with the numbers, if the block is too large. */
bool cvy_reduce_launch_fits(const cvy_reduce_problem *problem, const int64_t *offsets,
                            cvy_reduce_launch *out, cvy_text *reason);

#endif
