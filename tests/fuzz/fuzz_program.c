/* Any bytes as the text of a program: what is accepted can be printed, and the printed text reads
 * back as the same bytes; it can be computed, and so can its gradients. And any bytes as a program:
 * what is accepted can be printed and computed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool ok, const char *what, const char *text) {
  if (ok) return;
  fprintf(stderr, "%s: '%s' (%s)\n", what, text, cvy_last_error());
  abort();
}

static void compute(const cvy_program *program) {
  float inputs[CVY_PROGRAM_INPUTS] = {1.5f, -2.0f, 0.0f, 1e30f}, results[CVY_PROGRAM_RESULTS];
  cvy_program_place place;
  memset(&place, 0, sizeof place);
  cvy_program_element(program, inputs, &place, results);
}

/* Printed and read again. Only a canonical program comes back as the same bytes. */
static void round_trip(const cvy_program *program, const cvy_program_names *names, bool canonical) {
  char text[CVY_PROGRAM_TEXT];
  cvy_program again;
  require(cvy_program_text(program, names, text, sizeof text) == CONVOY_OK, "cannot be printed",
          "");
  convoy_status status = cvy_program_parse(text, &again, NULL);
  require(!canonical || status == CONVOY_OK, "printed text is refused", text);
  require(!canonical || memcmp(program, &again, sizeof again) == 0, "another one came back", text);
}

static void differentiate(const cvy_program *program) {
  for (int i = 0; i < program->inputs; i++) {
    cvy_program_gradient gradient;
    if (cvy_program_gradient_of(program, 1u << i, 15, 3, &gradient)) continue;
    require(cvy_program_check(&gradient.program) == CONVOY_OK, "a gradient is no program", "");
    round_trip(&gradient.program, NULL, true);
    compute(&gradient.program);
  }
}

static void as_text(const uint8_t *bytes, size_t count) {
  char *text = malloc(count + 1);
  cvy_program program;
  cvy_program_names names;
  if (text == NULL) return;
  memcpy(text, bytes, count);
  text[count] = '\0';
  if (cvy_program_parse(text, &program, &names) == CONVOY_OK) {
    require(cvy_program_check(&program) == CONVOY_OK, "an accepted text is no program", text);
    round_trip(&program, &names, true);
    compute(&program);
    differentiate(&program);
  }
  free(text);
}

static void as_program(const uint8_t *bytes, size_t count) {
  cvy_program program;
  memset(&program, 0, sizeof program);
  memcpy(&program, bytes, count < sizeof program ? count : sizeof program);
  if (cvy_program_check(&program)) return;
  round_trip(&program, NULL, false);
  compute(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  as_text(bytes, count);
  as_program(bytes, count);
  return 0;
}
