/* Elementwise programs: what a program is, its text, its meaning for one element, its gradient.
 *
 * A program computes up to 8 results from up to 16 inputs, every element by itself. Its text is
 * described in docs/programs_language.md, and so is its meaning, which is the same to the bit in
 * every engine as long as no denormal number is met. */
#ifndef CVY_PROGRAM_H
#define CVY_PROGRAM_H

#include "base/base.h"

enum {
  CVY_PROGRAM_INSTRUCTIONS = 64,
  CVY_PROGRAM_INPUTS = 16,
  CVY_PROGRAM_RESULTS = 8,
  CVY_PROGRAM_CONSTANTS = 32,
  CVY_PROGRAM_RANDOMS = 64,              /* random(0) to random(63) */
  CVY_PROGRAM_AXES = 5,                  /* n c z h w */
  CVY_PROGRAM_NAME = 32,                 /* bytes of a name, its end included */
  CVY_PROGRAM_TEXT = CONVOY_PROGRAM_TEXT /* longer texts are refused */
};

extern const char cvy_axis_letters[CVY_PROGRAM_AXES + 1]; /* "nczhw" */

/* Operations. A place in this list is in programs that go to another process: library and worker
 * are of one build. */
typedef enum cvy_program_op {
  CVY_PROGRAM_ADD,
  CVY_PROGRAM_SUBTRACT,
  CVY_PROGRAM_MULTIPLY,
  CVY_PROGRAM_DIVIDE,
  CVY_PROGRAM_NEGATE,
  CVY_PROGRAM_LESS, /* comparisons give 1 or 0 */
  CVY_PROGRAM_LESS_EQUAL,
  CVY_PROGRAM_EQUAL,
  CVY_PROGRAM_NOT_EQUAL,
  CVY_PROGRAM_SELECT, /* a is 0 ? c : b, so a NaN takes b */
  CVY_PROGRAM_FMA,
  CVY_PROGRAM_MIN,
  CVY_PROGRAM_MAX,
  CVY_PROGRAM_ABS,
  CVY_PROGRAM_EXP,
  CVY_PROGRAM_LOG,
  CVY_PROGRAM_TANH,
  CVY_PROGRAM_ERF,
  CVY_PROGRAM_SQRT,
  CVY_PROGRAM_RSQRT,
  CVY_PROGRAM_SIGMOID,
  CVY_PROGRAM_FLOOR,
  CVY_PROGRAM_INDEX,  /* a is the axis */
  CVY_PROGRAM_RANDOM, /* a is the number of the call */
  CVY_PROGRAM_OPS
} cvy_program_op;

/* An operand is an earlier instruction, an input or a constant. */
enum { CVY_OPERAND_INPUT = 64, CVY_OPERAND_CONSTANT = 96 };

typedef struct cvy_instruction {
  uint8_t op;
  uint8_t in[3]; /* operands, or the number of INDEX and RANDOM; 0 where there is none */
} cvy_instruction;

/* Flat: no pointers and no padding, so that programs can be hashed, compared as bytes and sent.
 * What is not used is 0. Programs that differ in names and blanks alone are the same bytes. */
typedef struct cvy_program {
  uint8_t instructions, inputs, results, constants;
  uint8_t result[CVY_PROGRAM_RESULTS]; /* operands */
  cvy_instruction code[CVY_PROGRAM_INSTRUCTIONS];
  float constant[CVY_PROGRAM_CONSTANTS];
  uint8_t reserved[4];
} cvy_program;

/* What people call inputs and results; no part of the program. */
typedef struct cvy_program_names {
  char input[CVY_PROGRAM_INPUTS][CVY_PROGRAM_NAME];
  char result[CVY_PROGRAM_RESULTS][CVY_PROGRAM_NAME];
} cvy_program_names;

/* ------------------------------------------------------------------------------------- text */

/* ERR_ARGUMENT with a sentence that has the column. `names` may be NULL. */
convoy_status cvy_program_parse(const char *text, cvy_program *out, cvy_program_names *names);

/* The canonical text, which parses to the same bytes. `names` NULL: x0, x1 and y0, y1. */
convoy_status cvy_program_text(const cvy_program *program, const cvy_program_names *names,
                               char *text, size_t size);

/* Whether bytes from elsewhere are a program that can be run: counts, operations, operands, zeros
 * where nothing belongs. ERR_ARGUMENT with what is wrong. */
convoy_status cvy_program_check(const cvy_program *program);

/* ---------------------------------------------------------------------------------- meaning */

/* Which of these a program reads besides its inputs' elements, and what it costs. */
typedef struct cvy_program_uses {
  uint32_t inputs; /* bit of each that is read */
  uint32_t axes;   /* bit of each whose index is read */
  bool random;
  int32_t work; /* floating-point operations of an element, roughly */
} cvy_program_uses;
cvy_program_uses cvy_program_uses_of(const cvy_program *program);

/* The random numbers of one node in one run, for every element and call: 128 bits that seed, run
 * and node have been mixed into. */
typedef struct cvy_program_stream {
  uint32_t word[4];
} cvy_program_stream;
cvy_program_stream cvy_program_stream_of(uint64_t seed, uint64_t run, uint64_t node);

/* Where an element is. */
typedef struct cvy_program_place {
  int32_t axis[CVY_PROGRAM_AXES]; /* for index() */
  uint64_t index;                 /* of the element in its array, for random() */
  cvy_program_stream stream;
} cvy_program_place;

/* Uniform in [0, 1), a multiple of 2^-24. */
float cvy_program_random(const cvy_program_stream *stream, int call, uint64_t index);

/* The definition every engine is judged by: one element, whatever floating-point mode the thread is
 * in. `place` may be NULL where neither index() nor random() is used. False if a denormal number
 * was met, an operand or a result of any instruction: engines may then differ. */
bool cvy_program_element(const cvy_program *program, const float *inputs,
                         const cvy_program_place *place, float *results);

/* The same in a thread that is in the default mode already (program/mode.h): setting it takes
 * longer than most elements. `zeroed` gets the results of an engine that takes denormal numbers for
 * 0 of their sign, operands and results of all instructions. */
bool cvy_program_element_both(const cvy_program *program, const float *inputs,
                              const cvy_program_place *place, float *results, float *zeroed);

/* --------------------------------------------------------------------------------- gradient */

typedef enum cvy_program_source {
  CVY_SOURCE_INPUT,   /* of the program */
  CVY_SOURCE_RESULT,  /* a value the program has computed, read again because that saves work */
  CVY_SOURCE_GRADIENT /* of a result: what comes from above */
} cvy_program_source;

/* What a gradient is computed from and for. */
typedef struct cvy_program_gradient {
  cvy_program program; /* its results are the gradients of the inputs asked for, in their order */
  struct {
    uint8_t kind; /* cvy_program_source */
    uint8_t number;
  } source[CVY_PROGRAM_INPUTS]; /* what each of its inputs is */
} cvy_program_gradient;

/* The program for the gradients of the inputs whose bits are in `wanted`, 4 at most. `given` has
 * the bits of the results that have a gradient, the others' is 0; `readable` those of the results
 * that may be read again. ERR_UNSUPPORTED if it is no program: too many inputs or instructions. */
convoy_status cvy_program_gradient_of(const cvy_program *program, uint32_t wanted, uint32_t given,
                                      uint32_t readable, cvy_program_gradient *out);

/* ------------------------------------------------------------------------------- generators */

/* Appends a function in the common words of C, its vectors and OpenCL C
 * (program/program_functions.h): FUNCTION void NAME(real x0, ..., [const program_place *at,] real
 * *y0, ...) with a parameter for every input and result, and `at` if index() or random() is used: a
 * struct with axis0 to axis4, reals, and whatever else the engine's program_random(at, call) wants.
 */
void cvy_program_function(const cvy_program *program, const char *name, cvy_text *to);

/* The instructions whose values are the same for all elements that share the elements of these
 * inputs: a bit each. */
uint64_t cvy_program_steady(const cvy_program *program, uint32_t inputs);
/* What such a function consists of, for generators that write it in parts: declarations of the
 * values of these instructions, and an operand's name. */
void cvy_program_write_values(const cvy_program *program, uint64_t which, const char *indent,
                              cvy_text *to);
void cvy_program_write_operand(const cvy_program *program, int operand, cvy_text *to);

#endif
