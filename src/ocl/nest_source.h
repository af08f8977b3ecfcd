/* What generated kernels over nests (program/nest.h) have in common: where operands are, loads, the
 * call of the program's function. */
#ifndef CVY_OCL_NEST_SOURCE_H
#define CVY_OCL_NEST_SOURCE_H

#include "ocl/kernel_block.h"
#include "program/nest.h"

/* How many neighbours along the innermost loop an item takes: `most` (4 or 8) or 4 where each four
 * are an aligned vector of every operand that steps along it, else 1. `offsets` as in
 * cvy_program_launch_of. */
int32_t cvy_nest_width(const cvy_program_problem *problem, const cvy_program_nest *nest,
                       int results, const int64_t *offsets, int32_t most);
/* 4 where numbers and places fit 32 bits, else 8. */
int32_t cvy_nest_word_bytes(const cvy_program_problem *problem, const cvy_program_nest *nest,
                            int results, const int64_t *offsets);

/* Members of the argument block: of each operand, as arrays 0 to inputs + results - 1, its offset
 * and its strides, where they are neither 0 nor, along the innermost loop, 1. */
void cvy_nest_add_operands(cvy_kernel_block *block, cvy_text *source, int inputs, int results,
                           const cvy_program_nest *nest, const int64_t *offsets);
/* What indices of the loops from `first` on and before `end` are found with: the extents of all but
 * the first, and what it takes to divide by them. */
void cvy_nest_add_extents(cvy_kernel_block *block, cvy_text *source, const cvy_program_nest *nest,
                          int first, int end);
/* Of index() and random(), if the program has them. */
void cvy_nest_add_place(cvy_kernel_block *block, cvy_text *source,
                        const cvy_program_problem *problem, const cvy_program_nest *nest);

/* The indices i of the loops from `first` on and before `end`, of the element whose number in them
 * is `number`: declarations. */
void cvy_nest_write_indices(cvy_text *source, int first, int end, const char *number,
                            const char *indent);
/* "args.NAME + i0 * args.NAME_0 ..." of the same loops, whose indices are i0, i1, ... */
void cvy_nest_write_offset(cvy_text *source, const char *name, const int64_t *strides, int loops,
                           int innermost);
/* The parameters of all inputs: "global const float *in0, ...". */
void cvy_nest_write_inputs(cvy_text *source, const cvy_program_problem *problem);

/* The inputs that stay the same along the loops from `first` on and before `end`, a bit each. */
uint32_t cvy_nest_steady_inputs(const cvy_program_problem *problem, const cvy_program_nest *nest,
                                int first, int end);
/* Loads of the inputs with these bits that the program reads, into x0, x1, ...: declarations. */
void cvy_nest_write_loads(cvy_text *source, const cvy_program_problem *problem,
                          const cvy_program_nest *nest, uint32_t inputs, const char *indent);
/* `at`, if there are index() or random(). */
void cvy_nest_write_place(cvy_text *source, const cvy_program_problem *problem,
                          const cvy_program_nest *nest, const char *indent);

#endif
