/* The calendar by arithmetic: gmtime_r takes a lock, which may be held for good in a child made by
 * fork() while another thread asked for the time. */
#include <stdio.h>

#include "base/base.h"

enum { DAY = 24 * 60 * 60 };
#define YEAR_9999_ENDS INT64_C(253402300799) /* four digits, and a loop that ends */

static int days_of_year(int year) {
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return leap ? 366 : 365;
}

static int days_of_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 1 ? days_of_year(year) - 337 : days[month];
}

void cvy_utc(int64_t seconds, char *text, size_t size) {
  if (seconds < 0) seconds = 0;
  if (seconds > YEAR_9999_ENDS) seconds = YEAR_9999_ENDS;
  int64_t days = seconds / DAY;
  const int clock = (int)(seconds % DAY);
  int year = 1970, month = 0;
  for (; days >= days_of_year(year); year++) days -= days_of_year(year);
  for (; days >= days_of_month(year, month); month++) days -= days_of_month(year, month);
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month + 1, (int)days + 1, clock / 3600,
               clock / 60 % 60, clock % 60);
}

int64_t cvy_utc_read(const char *text) {
  int year, month, day, hour, minute, second;
  if (!cvy_text_is(text, "####-##-##T##:##:##Z")) return -1;
  sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month - 1))
    return -1;
  if (hour > 23 || minute > 59 || second > 60) return -1;
  int64_t days = day - 1;
  for (int before = 1970; before < year; before++) days += days_of_year(before);
  for (int before = 1; before < month; before++) days += days_of_month(year, before - 1);
  return days * DAY + ((int64_t)hour * 60 + minute) * 60 + second;
}
