/* Any bytes as the system's record of logins: what is found must lie where it can. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  enum { SINCE = 1000, SEEN = 5000, BEGAN = 10000000 };
  const cvy_past_boot given = {.since = SINCE, .seen = SEEN, .until = BEGAN, .alive = SEEN};
  cvy_past_boot boot = given;
  uint8_t *copy = malloc(count); /* exactly as long, so that reading beyond it shows */
  if (copy == NULL) return 0;
  memcpy(copy, bytes, count);
  cvy_boot_read_logins(copy, count, &boot);
  require(boot.since == SINCE && boot.seen == SEEN, "what was given has changed");
  require(boot.until <= BEGAN, "the boot ended after this one began");
  require(boot.alive == SEEN || (boot.alive > SEEN && boot.alive < BEGAN), "alive out of range");
  free(copy);
  return 0;
}
