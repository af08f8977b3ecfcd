/* Any bytes as the roster of devices: what is accepted must be written such that it reads back the same, fit
 * its bounds, and go through everything that is done with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/roster.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static cvy_roster first, second;
static char text[CVY_ROSTER_TEXT], again[CVY_ROSTER_TEXT];

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s:\n%s\n%s\n", what, text, again);
  abort();
}

static void round_trip(void) {
  cvy_roster_format(&first, text, sizeof text);
  require(strlen(text) < sizeof text - 1, "the text does not fit");
  cvy_roster_parse(text, &second);
  require(second.count == first.count && second.skipped == 0, "written lines are refused");
  cvy_roster_format(&second, again, sizeof again);
  require(strcmp(text, again) == 0, "another text came back");
}

/* A device that is there has a place, is found by its name, and is no news the second time. */
static void see(const char *machine, const convoy_device_info *info, const char *day) {
  cvy_roster_see(&first, machine, info, day);
  require(first.count >= 1 && first.count <= CVY_ROSTER, "a device went lost");
  require(!cvy_roster_see(&first, machine, info, day), "the same is news twice");
  require(cvy_roster_find(&first, machine, info->name) != NULL, "it is not found");
  round_trip();
}

static void use(void) {
  cvy_facts there = {.info = {.id = "ocl:0", .name = "A Card", .driver = "1"}};
  see("m1", &there.info, "2026-11-23");
  const cvy_known one = first.list[0];
  const bool gone = cvy_known_gone(&one, one.machine, &there, 1);
  require(!gone || cvy_known_gone(&one, one.machine, &there, 0),
          "it is there, but not with others");
  require(!cvy_known_gone(&one, "another machine", &there, 0) ||
              strcmp(one.machine, "another machine") == 0,
          "another machine's is gone here");
  cvy_text_copy(there.info.id, sizeof there.info.id, one.id);
  cvy_text_copy(there.info.name, sizeof there.info.name, one.name);
  require(!cvy_known_gone(&one, one.machine, &there, 1), "what is there is gone");
  see(one.machine, &there.info, one.last);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *input = malloc(count + 1);
  if (input == NULL) return 0;
  memcpy(input, bytes, count);
  input[count] = '\0';
  cvy_roster_parse(input, &first);
  round_trip();
  use();
  free(input);
  return 0;
}
