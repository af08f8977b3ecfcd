/* The CPU engine interprets no program over many elements in the plans of the networks here: each
 * was compiled ahead (src/cpu/program/planned.c), whatever constants the extents put into it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/program/simd.h"
#include "nets/step.h"
#include "program/reduce.h"
#include "tensors.h"

enum { TEXT = 1 << 20, MANY = 100000 };

/* A line of the graph's text: 12: v3 v4 = PROGRAM on n2c64h8w8 x1:channel of v1 v2 */
typedef struct operation {
  char *program, *extents, *views;
} operation;

static bool is_program(char *line, operation *out) {
  char *begin = strstr(line, " = "), *end = begin ? strstr(begin, " on n") : NULL;
  if (!end || !strstr(begin, "y0 = ")) return false;
  char *of = strstr(end, " of ");
  *end = 0;
  if (of) *of = 0;
  out->program = begin + 3;
  out->extents = end + 4;
  out->views = strchr(out->extents, ' ');
  if (out->views) *out->views++ = 0;
  return true;
}

static int64_t elements_of(const char *extents) {
  int64_t count = 1;
  for (const char *at = extents; *at;) {
    char *end;
    count *= strtoll(at + 1, &end, 10);
    at = end;
  }
  return count;
}

/* The bits of inputs that are one number in a channel of an image; false: one is no plain view. */
static bool numbers_of(const char *views, uint32_t *numbers) {
  *numbers = 0;
  for (const char *at = views; at && *at; at += strspn(at, " ")) {
    char kind[32];
    int input;
    if (sscanf(at, "x%d:%31[a-z_]", &input, kind) != 2) return false;
    if (strcmp(kind, "channel") && strcmp(kind, "one") && strcmp(kind, "position")) return false;
    *numbers |= 1u << input;
    at += strcspn(at, " ");
  }
  return true;
}

/* What is only read, not computed, is no program. */
static bool computes(const cvy_program *program) {
  return program->instructions > 0;
}

static void check_line(const char *net, char *line, int *many, int *others) {
  operation found;
  cvy_program program;
  cvy_reduction how;
  int32_t constant;
  uint32_t numbers;
  if (!is_program(line, &found) || elements_of(found.extents) < MANY) return;
  good(cvy_reduction_parse(found.program, &program, &how, NULL));
  if (!computes(&program)) return;
  if (!numbers_of(found.views, &numbers)) {
    ++*others;
    return;
  }
  ++*many;
  if (cvy_fused_find(&program, numbers, &constant) < 0)
    fail_msg("%s: interpreted: %s on %s %s", net, found.program, found.extents,
             found.views ? found.views : "");
}

static void check_net(const struct net_kind *kind) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  struct net net;
  struct net_step step;
  struct net_sizes sizes = {4, kind->classes, {kind->input[0], kind->input[1], kind->input[2]}};
  char *text = malloc(TEXT), *rest;
  int many = 0, others = 0;
  options.device = "cpu";
  good(convoy_open(&options, &context));
  good(net_open(&net, context, 1));
  net.dropout = kind->dropout;
  good(net_step_make(&net, kind, &sizes, true, false, &step));
  good(convoy_plan_text(step.graph, text, TEXT));
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    check_line(kind->name, line, &many, &others);
  print_message("%s: %d programs over many elements, and %d with other views\n", kind->name, many,
                others);
  assert_true(many > 0);
  assert_true(others * 10 <= many);
  net_step_free(&net, &step);
  net_close(&net);
  convoy_close(context);
  free(text);
}

static void plans_are_compiled_ahead(void **state) {
  (void)state;
  for (int i = 0; net_kind_at(i); i++) check_net(net_kind_at(i));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_compiled_ahead)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
