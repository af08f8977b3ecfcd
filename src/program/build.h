/* Making programs: values are added one after the other, equal ones are found again, constants are
 * folded, and what the results do not need is left out at the end. */
#ifndef CVY_PROGRAM_BUILD_H
#define CVY_PROGRAM_BUILD_H

#include "program/ops.h"

enum {
  CVY_BUILD_VALUES = 1024,
  CVY_BUILD_LEAVES = 32, /* inputs, numbered by the caller */
  CVY_VALUE_INPUT = CVY_PROGRAM_OPS,
  CVY_VALUE_CONSTANT
};

typedef int32_t cvy_value; /* its number */
#define CVY_NO_VALUE ((cvy_value)-1)

typedef struct cvy_build_value {
  uint8_t op;     /* cvy_program_op, CVY_VALUE_INPUT or CVY_VALUE_CONSTANT */
  uint8_t number; /* of the input, of INDEX and RANDOM */
  cvy_value in[3];
  float constant;
} cvy_build_value;

typedef struct cvy_build {
  int count;
  bool full; /* there were more; all that was asked for since is CVY_NO_VALUE */
  cvy_build_value value[CVY_BUILD_VALUES];
} cvy_build;

/* All of these are to be called in the default floating-point mode (program/mode.h), since folding
 * computes. An operand that is CVY_NO_VALUE gives CVY_NO_VALUE. */
cvy_value cvy_build_input(cvy_build *build, int number);
cvy_value cvy_build_constant(cvy_build *build, float value);
cvy_value cvy_build_number(cvy_build *build, cvy_program_op op, int number); /* INDEX, RANDOM */
cvy_value cvy_build_op(cvy_build *build, cvy_program_op op, cvy_value a, cvy_value b, cvy_value c);

/* An instruction of a program whose operands have the values in `value`, a place for each. */
cvy_value cvy_build_instruction(cvy_build *build, cvy_instruction code, const cvy_value *value);

/* Whether a value is a constant of exactly these bits. */
bool cvy_build_is(const cvy_build *build, cvy_value value, float constant);

/* The bits of the inputs that these values are computed from. */
uint32_t cvy_build_leaves(const cvy_build *build, const cvy_value *values, int count);

/* The same as inputs of a program, in the order of their numbers: how many they are; the place of
 * each among them; and which they are, as far as a program has inputs. */
int cvy_build_places(const cvy_build *build, const cvy_value *values, int count,
                     uint8_t place[CVY_BUILD_LEAVES], uint8_t leaf[CVY_PROGRAM_INPUTS]);

/* The canonical program of these results: instructions in the order in which a walk from the
 * results through the operands, first to last, leaves them. `inputs` are how many the program has,
 * `place` says for each number of an input which of them it is. ERR_ARGUMENT if it is too long. */
convoy_status cvy_build_program(const cvy_build *build, const cvy_value *results, int count,
                                int inputs, const uint8_t *place, cvy_program *out);

#endif
