/* A program with the names that people gave its operands, and its problem for arrays of given
 * shapes: what the public functions on programs are made of. */
#ifndef CVY_PROGRAM_BIND_H
#define CVY_PROGRAM_BIND_H

#include "problem/program/program.h"

/* Never changed once it is made: any thread may read it. */
struct convoy_program {
  cvy_program program;
  cvy_reduction how; /* axes 0: it is elementwise */
  cvy_program_names names;
};

/* The text of a named program (program/named.h), NULL if there is none of the name; and the names,
 * by number. */
const char *cvy_program_text_of(const char *name);
const char *cvy_program_name_at(int32_t i);

/* common.c: those that the library's own functions apply. */
typedef enum cvy_common_program {
  CVY_COMMON_RELU,
  CVY_COMMON_SILU,
  CVY_COMMON_SIGMOID,
  CVY_COMMON_ADD,
  CVY_COMMON_MULTIPLY,
  CVY_COMMON_PROGRAMS
} cvy_common_program;
const convoy_program *cvy_program_common(cvy_common_program which);

int32_t cvy_program_results(const convoy_program *program);

/* The problem of these arrays by the rules of convoy_apply; seed, run and node of random() are 0.
 * ERR_SHAPE or ERR_ARGUMENT with the operand's name and both numbers. */
convoy_status cvy_program_bind(const convoy_program *program, const cvy_shape *inputs,
                               const cvy_shape *outputs, cvy_problem *out);

/* A problem's text (problem/program/program.h) as a program and arrays that make the problem: of
 * all five extents, inputs, then results. ERR_ARGUMENT with what is wrong; ERR_UNSUPPORTED where no
 * arrays of their own make it: strided operands, pieces of another length. */
convoy_status cvy_program_bind_text(const char *text, convoy_program *out, cvy_shape *operands);

/* The program of the gradients of the inputs in `of`, names with blanks between; NULL: all of them.
 * Its inputs are those of the program's that it reads, then "d_NAME" for every result NAME; its
 * results are "d_NAME" for every input asked for. ERR_ARGUMENT for a name that is none,
 * ERR_UNSUPPORTED if it is no program or reduces by something else than sums. */
convoy_status cvy_program_bind_gradient(const convoy_program *program, const char *of,
                                        convoy_program *out);

#endif
