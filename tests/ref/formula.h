/* The float64 reference of programs and reductions: a reader of their texts that knows arithmetic
 * and the C library, and nothing of the library under test. Beside each value it keeps how far a
 * float32 computation of the same text may be off, by the usual rules for rounding errors. */
#ifndef REF_FORMULA_H
#define REF_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

enum { REF_AXES = 5, REF_OPERANDS = 12, REF_NAME = 32 };

typedef struct ref_number {
  double value, error; /* |float32 result - value| is at most `error` */
} ref_number;

/* What a text is evaluated for. */
typedef struct ref_place {
  int inputs;
  const char *name[REF_OPERANDS];
  double value[REF_OPERANDS];
  int64_t axis[REF_AXES]; /* index(n), index(c), ... */
} ref_place;

/* Whether the text is a reduction, and along which axes: bits, n the first; 0: it is none. */
unsigned ref_formula_axes(const char *text);

/* Result number `result` at one place; of a reduction the value that goes into it. False for a text
 * that it cannot read or that draws random numbers. */
bool ref_formula(const char *text, int result, const ref_place *at, ref_number *out);

/* What a reduction makes of its values, one after the other. */
typedef struct ref_reduction {
  int kind;
  int64_t count;
  double sum, size, squares, largest, least, furthest, errors, worst, center;
} ref_reduction;
/* Of result number `result`. `center` is a number near the values, for the variance. */
bool ref_reduction_begin(const char *text, int result, double center, ref_reduction *out);
void ref_reduction_add(ref_reduction *to, ref_number value);
ref_number ref_reduction_end(const ref_reduction *from);

#endif
