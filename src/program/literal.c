/* Numbers in text. The C library's conversions depend on the locale only by their decimal point, so
 * they are given, and asked for, digits without one. */
#include "program/literal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Halfway between two normal float32 there are at most 113 digits; one more says that others
 * follow. */
enum { DIGITS = 120, LARGEST_EXPONENT = 99999 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool cvy_number_begins(const char *at) {
  return is_digit(at[0]) || (at[0] == '.' && is_digit(at[1]));
}

/* Significant digits without a point, and the power of ten that belongs to them. */
typedef struct decimal {
  char digits[DIGITS + 2];
  int count, exponent;
} decimal;

static void add_digit(decimal *number, char digit, bool behind_point) {
  if (behind_point) number->exponent--;
  if (number->count == 0 && digit == '0') return;
  if (number->count < DIGITS) {
    number->digits[number->count++] = digit;
    return;
  }
  number->exponent++;
  if (digit != '0') number->digits[DIGITS] = '1';
}

/* The exponent behind the digits, if there is one. */
static int read_exponent(const char **at) {
  const char *p = *at;
  if (*p != 'e' && *p != 'E') return 0;
  p++;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  if (!is_digit(*p)) return 0;
  int exponent = 0;
  for (; is_digit(*p); p++)
    if (exponent < LARGEST_EXPONENT) exponent = 10 * exponent + (*p - '0');
  *at = p;
  return negative ? -exponent : exponent;
}

const char *cvy_number_read(const char **at, float *out) {
  decimal number = {.count = 0};
  const char *p = *at;
  bool point = false;
  for (; is_digit(*p) || (*p == '.' && !point); p++) {
    if (*p == '.')
      point = true;
    else
      add_digit(&number, *p, point);
  }
  *at = p;
  number.exponent += read_exponent(at);
  if (number.digits[DIGITS]) number.exponent--; /* the digit that stands for the others */
  char text[DIGITS + 32];
  snprintf(text, sizeof text, "%se%d", number.count ? number.digits : "0", number.exponent);
  float value = strtof(text, NULL);
  if (isinf(value)) return "is too large for float32";
  if (number.count && value < FLT_MIN)
    return "is less than the smallest normal float32, 1.1754944e-38";
  *out = value;
  return NULL;
}

/* Digits and exponent of d.ddde+xx with so many digits behind the point, whatever the point is. */
static decimal scientific(float value, int places) {
  char text[64];
  decimal number = {.count = 0};
  snprintf(text, sizeof text, "%.*e", places, (double)value);
  const char *p = text;
  for (; *p && *p != 'e'; p++)
    if (is_digit(*p)) number.digits[number.count++] = *p;
  number.exponent = *p ? atoi(p + 1) : 0;
  return number;
}

static bool reads_back(const decimal *number, float value) {
  char text[DIGITS + 32];
  snprintf(text, sizeof text, "%se%d", number->digits, number->exponent - number->count + 1);
  return strtof(text, NULL) == value;
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
  float size = fabsf(value);
  int places = 0;
  decimal number = scientific(size, places);
  while (places < 8 && !reads_back(&number, size)) number = scientific(size, ++places);
  write_digits(text, &number);
}
