/* Programs on the CPU: prepared once, then run over arrays.
 *
 *   cvy_program_plan plan;
 *   cvy_program_prepare(&program, forms, cvy_program_simd_best(), &plan);
 *   for each plane, row or whatever else lies in one piece:
 *     cvy_program_run(&plan, &(cvy_program_arrays){.input = ..., .result = ..., .count = ...});
 *
 * A program of program/named.c or of planned_*.txt, with the same inputs being one number, runs as
 * one loop; all others are interpreted, a loop per vector instruction over blocks that stay in the
 * first-level cache. Either way the bits are those of cvy_program_element, denormal numbers
 * excepted. */
#ifndef CVY_CPU_PROGRAM_RUN_H
#define CVY_CPU_PROGRAM_RUN_H

#include "cpu/program/simd.h"
#include "program/problem.h"

typedef struct cvy_program_form {
  uint8_t type;   /* convoy_dtype */
  uint8_t single; /* one number for all elements of a run, instead of one for each */
} cvy_program_form;

enum {
  CVY_PLAN_NUMBERS =
      CVY_PROGRAM_INSTRUCTIONS + CVY_PROGRAM_INPUTS + CVY_PROGRAM_CONSTANTS, /* of every element */
  CVY_PLAN_INSTRUCTIONS = CVY_PROGRAM_INSTRUCTIONS + CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS,
  CVY_PLAN_LEAST_BLOCK = 128,
  CVY_PLAN_MOST_BLOCK = 1024,
  CVY_PLAN_FLOATS = /* of registers and of results that must wait */
  (CVY_PROGRAM_INSTRUCTIONS + CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS) * CVY_PLAN_LEAST_BLOCK
};

/* Where a vector instruction reads and writes. */
enum {
  CVY_SLOT_REGISTER = 0, /* a block of scratch memory */
  CVY_SLOT_INPUT = CVY_SLOT_REGISTER + CVY_PROGRAM_INSTRUCTIONS + CVY_PROGRAM_INPUTS,
  CVY_SLOT_RESULT = CVY_SLOT_INPUT + CVY_PROGRAM_INPUTS,
  CVY_SLOT_NUMBER = CVY_SLOT_RESULT + CVY_PROGRAM_RESULTS,
  CVY_SLOTS = CVY_SLOT_NUMBER + CVY_PLAN_NUMBERS
};

typedef struct cvy_vector_instruction {
  uint8_t op; /* cvy_vector_op, or INDEX or RANDOM, whose number is in[0] */
  uint8_t out;
  uint8_t in[CVY_VECTOR_OPERANDS];
} cvy_vector_instruction;

/* Flat, like a program; to be made by cvy_program_prepare only. */
typedef struct cvy_program_plan {
  const cvy_program_simd *simd;
  int32_t fused;          /* its place among the programs compiled ahead, or -1 */
  int32_t fused_constant; /* which constant its loop takes behind the inputs, or -1 */
  int32_t copied; /* the input that the only result is, with a float for each element; or -1 */
  uint8_t inputs, results, registers, numbers;
  uint8_t number_instructions, instructions; /* those on numbers come first, once for a run */
  int32_t block; /* elements of which all registers are in the first-level cache */
  cvy_program_form form[CVY_PROGRAM_INPUTS];
  uint8_t number_of_input[CVY_PROGRAM_INPUTS]; /* slot of one that is one number, else 0 */
  uint8_t number_of_constant[CVY_PROGRAM_CONSTANTS];
  uint8_t constants;
  float constant[CVY_PROGRAM_CONSTANTS];
  cvy_vector_instruction code[CVY_PLAN_INSTRUCTIONS];
  /* A result that lies where an input does must wait if the input is still read behind its
   * instruction. */
  uint8_t last_read[CVY_PROGRAM_INPUTS]; /* instruction */
  uint8_t written[CVY_PROGRAM_RESULTS];
} cvy_program_plan;

/* Whether the program with inputs of these forms runs as one loop. */
bool cvy_program_is_ahead(const cvy_program *program, const cvy_program_form *forms);

void cvy_program_prepare(const cvy_program *program, const cvy_program_form *forms,
                         const cvy_program_simd *simd, cvy_program_plan *out);

/* Where the elements of a run are, for index() and random(): they follow one another in the order
 * of the array of these extents, from element `first` on. */
typedef struct cvy_program_position {
  uint64_t first;
  int64_t extent[CVY_PROGRAM_AXES];
  cvy_program_stream stream;
} cvy_program_position;

typedef struct cvy_program_arrays {
  const void *input[CVY_PROGRAM_INPUTS]; /* of the type and form that were prepared for */
  float *result[CVY_PROGRAM_RESULTS];    /* each apart, or exactly where an input of 4 bytes is */
  int64_t count;
  const cvy_program_position *position; /* may be NULL where neither index() nor random() is used */
} cvy_program_arrays;

/* Any thread; needs 64 KiB of stack. */
void cvy_program_run(const cvy_program_plan *plan, const cvy_program_arrays *arrays);

/* It is interpreted even if it was compiled ahead: for tests and measurements. */
void cvy_program_interpret_only(cvy_program_plan *plan);

#endif
