/* Any bytes as the text of a program: what is accepted can be printed, and the printed text reads
 * back as the same bytes; it can be computed, and so can its gradients. Texts of reductions
 * likewise. And any bytes as a program or as changes to a problem: what is accepted can be printed
 * and computed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/reduce.h"

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

/* A text of a reduction: as for programs. */
static void as_reduction(const char *text) {
  char printed[CVY_PROGRAM_TEXT];
  cvy_program program, again;
  cvy_program_names names;
  cvy_reduction how, how_again;
  if (cvy_reduction_parse(text, &program, &how, &names)) return;
  require(cvy_program_check(&program) == CONVOY_OK, "an accepted text is no program", text);
  require(cvy_reduction_text(&program, &how, &names, printed, sizeof printed) == CONVOY_OK,
          "cannot be printed", text);
  require(cvy_reduction_parse(printed, &again, &how_again, NULL) == CONVOY_OK,
          "printed text is refused", printed);
  require(memcmp(&program, &again, sizeof again) == 0, "another program came back", printed);
  require(memcmp(&how, &how_again, sizeof how) == 0, "another reduction came back", printed);
}

/* Changes in a problem that is legal: what is accepted says how far it reaches. */
static void as_problem(const uint8_t *bytes, size_t count) {
  static const int64_t extent[] = {3, 4, 1, 5, 6};
  static const cvy_program_class classes[] = {CVY_CLASS_FULL, CVY_CLASS_CHANNEL};
  cvy_reduce_problem problem;
  cvy_program program;
  cvy_reduction how;
  if (cvy_reduction_parse("m = mean over n h w of x * y", &program, &how, NULL)) abort();
  cvy_reduce_problem_init(&program, &how, extent, classes, &problem);
  for (size_t i = 0; i + 9 <= count; i += 9)
    memcpy((char *)&problem + bytes[i] % (sizeof problem / 8) * 8, bytes + i + 1, 8);
  if (cvy_reduce_problem_check(&problem)) return;
  char text[CVY_PROGRAM_TEXT];
  require(!cvy_reduction_text(&problem.of.program, &problem.how, NULL, text, sizeof text),
          "cannot be printed", "");
  for (int i = 0; i < problem.of.program.inputs; i++)
    require(cvy_program_reach(&problem.of.input[i], problem.of.extent) >= 0, "reaches nowhere",
            text);
  require(cvy_reduce_order_of(&problem).pieces > 0, "there are no pieces", text);
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
  as_reduction(text);
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
  as_problem(bytes, count);
  return 0;
}
