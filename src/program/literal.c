/* Numbers in programs' text. */
#include "program/literal.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cvy_number_begins(const char *at) {
  return cvy_is_digit(at[0]) || (at[0] == '.' && cvy_is_digit(at[1]));
}

/* The C library reads the same digits, point and exponent, rounds them correctly, and says when
 * what is left has fewer digits than a float32; it also reads hexadecimal numbers, of which this
 * takes the 0. */
const char *cvy_number_read(const char **at, float *out) {
  const bool hexadecimal = (*at)[0] == '0' && cvy_upper((*at)[1]) == 'X';
  char *end = (char *)*at + 1;
  errno = 0;
  const float value = hexadecimal ? 0.0f : cvy_float(*at, &end);
  *at = end;
  if (isinf(value)) return "is too large for float32";
  if (value < FLT_MIN && (value != 0.0f || errno == ERANGE))
    return "is less than the smallest normal float32, 1.1754944e-38";
  *out = value;
  return NULL;
}

/* Most digits of a float32, sign, point and exponent. */
enum { DIGITS = 9, MOST_TEXT = DIGITS + 16 };

/* Significant digits without a point, and the power of ten of the first. */
typedef struct decimal {
  char digits[DIGITS + 1];
  int count, exponent;
} decimal;

/* Digits and exponent of d.ddde+xx with so many digits behind the point; false unless they read
 * back as the value. */
static bool scientific(float value, int places, decimal *number) {
  char buffer[MOST_TEXT];
  cvy_text text = cvy_text_in(buffer, sizeof buffer);
  cvy_text_add(&text, "%.*e", places, (double)value);
  *number = (decimal){.count = places + 1};
  number->digits[0] = buffer[0];
  memcpy(number->digits + 1, buffer + 2, (size_t)places);
  number->exponent = atoi(strchr(buffer, 'e') + 1);
  return cvy_float(buffer, NULL) == value;
}

static void write_digits(cvy_text *text, const decimal *number) {
  int before = number->exponent + 1; /* digits in front of the point */
  if (before > 9 || before < -4) {
    cvy_text_add(text, "%c%s%se%d", number->digits[0], number->count > 1 ? "." : "",
                 number->digits + 1, number->exponent);
  } else if (before <= 0) {
    cvy_text_add(text, "0.%.*s%s", -before, "0000", number->digits);
  } else if (number->count <= before) {
    cvy_text_add(text, "%s%.*s", number->digits, before - number->count, "000000000");
  } else {
    cvy_text_add(text, "%.*s.%s", before, number->digits, number->digits + before);
  }
}

void cvy_number_write(cvy_text *text, float value) {
  if (isnan(value)) {
    cvy_text_add(text, "nan");
    return;
  }
  if (signbit(value)) cvy_text_add(text, "-");
  if (isinf(value)) {
    cvy_text_add(text, "inf");
    return;
  }
  decimal number;
  int places = 0;
  while (!scientific(fabsf(value), places, &number) && places < DIGITS - 1) places++;
  write_digits(text, &number);
}
