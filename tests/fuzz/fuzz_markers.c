/* Any bytes as the marker of a device in use: what is accepted must end its texts, fit as text, and read
 * back the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/faults/in_use_marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static cvy_marker first, second;
static char text[CVY_MARKER_TEXT], again[CVY_MARKER_TEXT];

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s:\n%s\n%s\n", what, text, again);
  abort();
}

#define ENDS(field) (memchr(field, 0, sizeof field) != NULL)

static void check(const cvy_marker *marker) {
  require(marker->boot[0] && marker->device[0] && marker->process > 0, "not enough was accepted");
  require(ENDS(marker->boot) && ENDS(marker->device) && ENDS(marker->driver), "a name without end");
  require(ENDS(marker->since) && ENDS(marker->refreshed), "a date without end");
  require(ENDS(marker->machine) && ENDS(marker->space) && ENDS(marker->told),
          "a place without end");
  require(ENDS(marker->last) && ENDS(marker->first_use), "a command without end");
  require(ENDS(marker->algorithm) && ENDS(marker->cards), "a text without end");
}

static void round_trip(void) {
  cvy_marker_format(&first, text);
  require(strlen(text) < sizeof text - 1, "the text does not fit");
  require(cvy_marker_parse(text, &second), "what was written is refused");
  require(second.process == first.process && second.born == first.born,
          "another process came back");
  require(second.step == first.step, "another step came back");
  cvy_marker_format(&second, again);
  require(strcmp(text, again) == 0, "another text came back");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *input = malloc(count + 1);
  if (input == NULL) return 0;
  memcpy(input, bytes, count);
  input[count] = '\0';
  if (cvy_marker_parse(input, &first)) {
    check(&first);
    round_trip();
  }
  free(input);
  return 0;
}
