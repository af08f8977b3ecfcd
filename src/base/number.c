/* Numbers as text in no locale: with a point, whatever the program has told setlocale. What is
 * written under one locale is read under another. Nothing else in src calls vsnprintf, strtod or
 * strtof, nor prints numbers with a point by another function (tests/lint/locale.sh). */
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* 0: there was no memory for it, and the program's stays */

static void make_plain(void) {
  plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Of this thread alone; returns what it had. */
static locale_t enter(void) {
  pthread_once(&once, make_plain);
  return uselocale(plain);
}

int cvy_print(char *to, size_t size, const char *format, va_list args) {
  const locale_t before = enter();
  const int length = vsnprintf(to, size, format, args);
  uselocale(before);
  return length;
}

double cvy_double(const char *text, char **end) {
  const locale_t before = enter();
  const double value = strtod(text, end);
  uselocale(before);
  return value;
}

float cvy_float(const char *text, char **end) {
  const locale_t before = enter();
  const float value = strtof(text, end);
  uselocale(before);
  return value;
}
