/* The family of elementwise programs and their reductions (program/problem.h, program/reduce.h).
 *
 * As problems they read and write whole arrays: an image of a result is dense, in the order of
 * n c z h w, and an input is an array that ends with the last element the program reads. From image
 * to image there may be gaps (problem/view.h). The functions are for problems of this family only.
 */
#ifndef CVY_PROBLEM_PROGRAM_H
#define CVY_PROBLEM_PROGRAM_H

#include "problem/operation.h"

extern const cvy_operation cvy_program_operation, cvy_reduce_operation;

/* Makes problems of what cvy_program_problem_check and cvy_reduce_problem_check accept.
 * ERR_ARGUMENT with what is wrong, also for results whose images are not dense. */
convoy_status cvy_program_make(const cvy_program_problem *from, cvy_problem *out);
convoy_status cvy_reduce_make(const cvy_reduce_problem *from, cvy_problem *out);

/* The program and its operands, of both operations. */
const cvy_program_problem *cvy_program_part(const cvy_problem *problem);

/* gradient.c. ERR_UNSUPPORTED where an input is wanted whose elements are not all of an array, in
 * order, as those of a slice are not, and where a gradient would be too long a program. */
convoy_status cvy_program_gradient_steps(const cvy_problem *problem, uint32_t wanted,
                                         uint32_t given, cvy_gradient *out);
convoy_status cvy_reduce_gradient_steps(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                                        cvy_gradient *out);

/* fuse.c: as cvy_problem_fuse, for both rows. */
bool cvy_program_fuse(const cvy_bound *first, const cvy_bound *second, uint32_t kept,
                      cvy_fused *out);

/* lay.c: whether an element is the same whatever the extents are called, since all operands are
 * whole arrays in order, inputs perhaps one number; then other extents for as many elements. */
bool cvy_program_is_flat(const cvy_problem *problem, const cvy_program_problem *of);
void cvy_program_set_space(cvy_program_problem *of, const int64_t *extent);
/* For both rows. */
bool cvy_program_lay(cvy_problem *problem, bool output, int32_t i, const cvy_region *region);

/* excerpt.c: as cvy_problem_excerpt; false where it would be all. */
bool cvy_program_excerpt(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out);

/* text.c: one line, "y0 = max(x0 * x1, 0) on n16c64h80w80 x1:channel": the canonical text, extents
 * that are not 1, and which operands are not full float32: their class or "strides=1,0,0,0,2", then
 * ":int32" or ":uint8". A reduction's pieces follow where they are not the default. Numbers of
 * random() are not in it. A program too long for it is its hash, "program 0123456789abcdef on ...".
 * The parser takes any program's text, with its own names. */
void cvy_program_print(const cvy_problem *problem, char *text, size_t size);
bool cvy_program_readable(const cvy_problem *problem);
bool cvy_program_read(const char *text, cvy_problem *out);
/* The same for people, with the text's own names: ERR_ARGUMENT with what is wrong. */
convoy_status cvy_program_read_named(const char *text, cvy_problem *out, cvy_program_names *names);

/* shape_class.c */
void cvy_program_shape_class(const cvy_problem *problem, cvy_text *text);
/* Of the program and of what is reduced how. */
uint64_t cvy_program_hash(const cvy_problem *problem);

#endif
