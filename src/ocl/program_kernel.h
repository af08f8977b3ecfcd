/* The OpenCL kernel of a program over arrays: its source, which depends on the program, the classes
 * and types of its operands and their alignment, and its arguments, which have extents, strides and
 * offsets. So one kernel serves all extents.
 *
 * A work-item computes a vector of four neighbouring elements where rows are aligned for that, else
 * one element; which one follows from its number by a division per loop of the nest
 * (program/nest.h).
 *
 * A result may lie exactly where an input of the same strides and 4-byte elements does: an item
 * loads before it stores.
 *
 * One launch is one problem. The same program over many arrays, an optimizer's, is a launch each
 * today. OpenCL 1.2 has no kernel over a list of memory objects; but arrays that lie in one piece
 * of memory, as a graph's plan places parameters, gradients and momenta, are to be one launch: with
 * a table of (first item, offset of each operand) in constant memory, in which a work-item finds
 * its array by bisection, and everything else as here. */
#ifndef CVY_OCL_PROGRAM_KERNEL_H
#define CVY_OCL_PROGRAM_KERNEL_H

#include "ocl/kernel_block.h"
#include "program/nest.h"

/* Work-items of a group, where the device takes as many. Larger groups make larger gaps between
 * their end and the next one's first loads. */
enum { CVY_PROGRAM_GROUP = 128 };

typedef struct cvy_program_launch {
  int32_t width; /* elements of a work-item: 1, 4, or 8, which index() and random() do not know */
  bool placed;   /* the source cvy_cl_program_random is needed */
  int64_t items; /* work-items, 0: nothing is to be done; the kernel ignores those beyond */
  char options[64];
  cvy_kernel_block block;
} cvy_program_launch;

/* Appends the source of kernel "program" and fills in the launch. To compile: the sources
 * cvy_cl_program_words, _functions, _random if `placed`, _arrays, then this one, with these options
 * and no others that touch arithmetic. Arguments: the block's bytes, all inputs, all results.
 * `offsets` are where operands begin in their memory, in elements, inputs first; memory itself is
 * aligned to 16 bytes. A launch may be cut into several along its items, by
 * clEnqueueNDRangeKernel's offset; or repeated with other offsets, as long as they are aligned
 * alike and the block's words hold them. ERR_UNSUPPORTED if the block is more than every device
 * takes. */
convoy_status cvy_program_launch_of(const cvy_program_problem *problem, const int64_t *offsets,
                                    cvy_text *source, cvy_program_launch *out);
/* Whether they are that, without writing anything; false with the numbers. */
bool cvy_program_launch_fits(const cvy_program_problem *problem, const int64_t *offsets,
                             cvy_text *reason);

#endif
