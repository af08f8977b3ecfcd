/* The calendar's time: it may jump, but it goes on when the machine is off. */
#include <time.h>

#include "os/os.h"

int64_t cvy_date(void) {
  return (int64_t)time(NULL);
}

void cvy_calendar(char *text, size_t size) {
  cvy_utc(cvy_date(), text, size);
}
