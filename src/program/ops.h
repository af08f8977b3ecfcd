/* What is known of each operation by itself. */
#ifndef CVY_PROGRAM_OPS_H
#define CVY_PROGRAM_OPS_H

#include "program/program.h"

/* How tightly an operation binds in text; a form whose operand binds less needs parentheses. */
typedef enum cvy_binding {
  CVY_BINDS_CHOICE, /* c ? a : b */
  CVY_BINDS_COMPARISON,
  CVY_BINDS_SUM,
  CVY_BINDS_PRODUCT,
  CVY_BINDS_SIGN,
  CVY_BINDS_TIGHT /* names, numbers, functions */
} cvy_binding;

typedef struct cvy_op_row {
  const char *sign; /* between or in front of operands; NULL: it is written as a function */
  const char *name; /* in text if it is a function, in program_functions.h in any case */
  int8_t operands;  /* values it reads */
  int8_t work;      /* floating-point operations */
  uint8_t numbers;  /* INDEX, RANDOM: how many there are to choose from */
  bool commutes;    /* bits do not depend on the order of operands */
  cvy_binding binding;
} cvy_op_row;

extern const cvy_op_row cvy_op_rows[CVY_PROGRAM_OPS];

/* One instruction on floats; INDEX and RANDOM have no operands and are not for it. */
float cvy_program_apply(cvy_program_op op, float a, float b, float c);

/* The smallest normal number counts too: what was rounded up to it is 0 where results are flushed
 * before they are rounded. */
bool cvy_is_denormal(float value);

#endif
