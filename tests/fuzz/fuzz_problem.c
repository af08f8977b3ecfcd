/* Any bytes as problem text: what is accepted must be formatted, and the formatted text must read
 * back as the same problem and format the same again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem/conv/conv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

typedef struct parsed {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
} parsed;

static convoy_status parse(const char *text, parsed *out) {
  memset(out, 0, sizeof *out);
  return cvy_parse_problem(text, &out->conv, out->x, out->w, &out->direction);
}

static void require(bool ok, const char *what, const char *text) {
  if (ok) return;
  fprintf(stderr, "%s: '%s' (%s)\n", what, text, cvy_last_error());
  abort();
}

static void round_trip(const parsed *first) {
  char text[CONVOY_PROBLEM_TEXT], again[CONVOY_PROBLEM_TEXT];
  parsed second;
  require(cvy_format_problem(&first->conv, first->x, first->w, first->direction, text,
                             sizeof text) == CONVOY_OK,
          "an accepted problem cannot be formatted", "");
  require(parse(text, &second) == CONVOY_OK, "formatted text is refused", text);
  require(memcmp(first, &second, sizeof second) == 0, "another problem came back", text);
  require(cvy_format_problem(&second.conv, second.x, second.w, second.direction, again,
                             sizeof again) == CONVOY_OK &&
              strcmp(text, again) == 0,
          "another text came back", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *text = malloc(count + 1);
  if (text == NULL) return 0;
  memcpy(text, bytes, count);
  text[count] = '\0';
  parsed problem;
  if (parse(text, &problem) == CONVOY_OK) round_trip(&problem);
  free(text);
  return 0;
}
