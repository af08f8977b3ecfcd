/* Any bytes as problem text: what is accepted must be formatted, and the formatted text must read
 * back as the same problem and format the same again; that of convolutions as the public functions
 * have it, and that of all operations as logs and files have it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem/conv/conv.h"
#include "problem/operation.h"

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

/* What a text was too long for is known by its class. */
static void as_example(const cvy_problem *first) {
  char text[CVY_EXAMPLE_TEXT], class[CVY_CLASS_TEXT], again[CVY_EXAMPLE_TEXT];
  cvy_problem second;
  require(cvy_problem_legal(first), "an accepted problem is not legal", "");
  cvy_shape_class(first, class, sizeof class);
  cvy_class_example(first, text, sizeof text);
  if (strcmp(text, class) == 0) return;
  require(cvy_problem_read(text, &second), "an example is refused", text);
  require(cvy_problem_equal(first, &second), "another problem came back", text);
  cvy_class_example(&second, again, sizeof again);
  require(strcmp(text, again) == 0, "another example came back", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *text = malloc(count + 1);
  if (text == NULL) return 0;
  memcpy(text, bytes, count);
  text[count] = '\0';
  parsed problem;
  cvy_problem any;
  if (parse(text, &problem) == CONVOY_OK) round_trip(&problem);
  if (cvy_problem_read(text, &any)) as_example(&any);
  free(text);
  return 0;
}
