/* Any bytes as the record of faults: what is accepted must be written such that it reads back the same,
 * fit its bounds, and go through everything that is done with a record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/faults/strikes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static cvy_strikes first, second;
static char text[CVY_STRIKES_TEXT], again[CVY_STRIKES_TEXT];

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s:\n%s\n%s\n", what, text, again);
  abort();
}

static void round_trip(void) {
  cvy_strikes_format(&first, text, sizeof text);
  require(strlen(text) < sizeof text - 1, "the text does not fit");
  cvy_strikes_parse(text, &second);
  require(second.count == first.count && second.skipped == 0, "written lines are refused");
  cvy_strikes_format(&second, again, sizeof again);
  require(strcmp(text, again) == 0, "another text came back");
}

static void use(void) {
  const cvy_strike *why;
  if (first.count == 0) return;
  const cvy_strike one = first.list[0];
  cvy_rung rung =
      cvy_strikes_rung(&first, one.device, one.driver, one.shape_class, one.last, 3, &why);
  require((rung == CVY_RUNG_TUNED) == (why == NULL), "a step down without a reason");
  cvy_strikes_describe(&first, NULL, one.last, 3, again, 2000);
  cvy_strikes_add(&first, &one);
  require(first.count >= 1 && first.count <= CVY_STRIKES, "a strike went lost");
  round_trip();
  cvy_strikes_forget(&first, one.device);
  require(first.count == 0 || strcmp(first.list[0].device, one.device) != 0, "not forgotten");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *input = malloc(count + 1);
  if (input == NULL) return 0;
  memcpy(input, bytes, count);
  input[count] = '\0';
  cvy_strikes_parse(input, &first);
  round_trip();
  use();
  free(input);
  return 0;
}
