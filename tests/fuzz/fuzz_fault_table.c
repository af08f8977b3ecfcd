/* Any bytes as the table of faults: what is accepted must be written such that it reads back the same,
 * fit its bounds, and go through everything that is done with a record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/faults/fault_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static cvy_fault_table first, second;
static char text[CVY_FAULT_TABLE_TEXT], again[CVY_FAULT_TABLE_TEXT];

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s:\n%s\n%s\n", what, text, again);
  abort();
}

static void round_trip(void) {
  cvy_fault_table_format(&first, text, sizeof text);
  require(strlen(text) < sizeof text - 1, "the text does not fit");
  cvy_fault_table_parse(text, &second);
  require(second.count == first.count && second.skipped == 0, "written lines are refused");
  cvy_fault_table_format(&second, again, sizeof again);
  require(strcmp(text, again) == 0, "another text came back");
}

static void use(void) {
  const cvy_fault_entry *why;
  if (first.count == 0) return;
  const cvy_fault_entry one = first.list[0];
  cvy_level level =
      cvy_fault_table_level(&first, one.device, one.driver, one.shape_class, one.last, 3, &why);
  require((level == CVY_LEVEL_TUNED) == (why == NULL), "a step down without a reason");
  cvy_fault_table_describe(&first, NULL, one.last, 3, again, 2000);
  cvy_fault_table_add(&first, &one);
  require(first.count >= 1 && first.count <= CVY_FAULT_ENTRIES, "an entry went lost");
  round_trip();
  cvy_fault_table_forget(&first, one.device);
  require(first.count == 0 || strcmp(first.list[0].device, one.device) != 0, "not forgotten");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *input = malloc(count + 1);
  if (input == NULL) return 0;
  memcpy(input, bytes, count);
  input[count] = '\0';
  cvy_fault_table_parse(input, &first);
  round_trip();
  use();
  free(input);
  return 0;
}
