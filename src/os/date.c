/* The calendar's time: it may jump, but it goes on when the machine is off. */
#include <time.h>

#include "os/os.h"

int64_t cvy_date(void) {
  return (int64_t)time(NULL);
}

void cvy_calendar(char *text, size_t size) {
  time_t now = (time_t)cvy_date();
  struct tm parts;
  if (!gmtime_r(&now, &parts) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts)) *text = '\0';
}
