/* Numbers in the text of programs: the same whatever the locale, rounded correctly both ways. */
#ifndef CVY_PROGRAM_LITERAL_H
#define CVY_PROGRAM_LITERAL_H

#include "base/base.h"

/* Whether a number begins here: a digit, or a point and a digit. */
bool cvy_number_begins(const char *at);

/* Reads digits with a point and an exponent, no sign, and moves *at behind them. NULL, or what is
 * wrong: it is too large for float32, or so small that it would be a denormal number. */
const char *cvy_number_read(const char **at, float *out);

/* The shortest decimal that reads back as this finite number; "inf" and "nan" for the others. */
void cvy_number_write(cvy_text *text, float value);

#endif
