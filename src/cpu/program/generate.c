/* fused_generate LOOPS PROGRAMS PLANNED...: makes C of the named programs (program/named.h), of the
 * gradients that they ask for, and of the lists PLANNED: of what the planner makes of batch norms,
 * activations, their gradients and optimizers that follow one another in networks, as
 * scripts/planned_programs.py writes it. LOOPS gets a function per program in the words of
 * vector.h, which loops_body.h includes; PROGRAMS the table by which they are found. Run by the
 * build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/program/simd.h"
#include "program/named.h"

enum { MOST = 256, LINE = 4096 };

static const char *current; /* name */
static cvy_fused_program known[MOST];
static int count;

static void give_up(const char *what) {
  fprintf(stderr, "%s: %s\n", current, what);
  exit(EXIT_FAILURE);
}

static FILE *open_or_give_up(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  if (!file) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  return file;
}

/* ------------------------------------------------------------------------------------ the loop */

static bool is_single(const cvy_fused_program *fused, int input) {
  return fused->single >> input & 1;
}

static void write_call(FILE *loops, const cvy_fused_program *fused, int number, const char *load) {
  fprintf(loops, "fused_%d(", number);
  for (int i = 0; i < fused->program.inputs; i++) {
    if (is_single(fused, i))
      fprintf(loops, "x%d, ", i);
    else
      fprintf(loops, load, i);
  }
  for (int i = 0; i < fused->program.results; i++) fprintf(loops, "%s&y%d", i ? ", " : "", i);
  fprintf(loops, ");\n");
}

static void write_loop(FILE *loops, const cvy_fused_program *fused, int number) {
  const cvy_program *program = &fused->program;
  fprintf(loops,
          "static void fused_loop_%d(const float *const *inputs, float *const *results,\n"
          "                         int64_t count) {\n  int64_t i = 0;\n",
          number);
  for (int i = 0; i < program->inputs; i++) {
    fprintf(loops,
            is_single(fused, i) ? "  real x%d = repeat(inputs[%d]);\n"
                                : "  const float *in%d = inputs[%d];\n",
            i, i);
  }
  for (int i = 0; i < program->results; i++)
    fprintf(loops, "  float *out%d = results[%d];\n  real y%d;\n", i, i, i);
  fprintf(loops, "  for (; i + WIDTH <= count; i += WIDTH) {\n    ");
  write_call(loops, fused, number, "load(in%d + i), ");
  for (int i = 0; i < program->results; i++) fprintf(loops, "    store(out%d + i, y%d);\n", i, i);
  fprintf(loops, "  }\n  if (i == count) return;\n  ");
  write_call(loops, fused, number, "load_part(in%d + i, count - i), ");
  for (int i = 0; i < program->results; i++)
    fprintf(loops, "  store_part(out%d + i, y%d, count - i);\n", i, i);
  fprintf(loops, "}\n");
}

static void write_program(FILE *programs, const cvy_fused_program *fused, const char *name) {
  const unsigned char *bytes = (const unsigned char *)&fused->program;
  fprintf(programs, "    /* %s */\n    {.single = %uu, .given = %d, .program = {%d, %d, %d, %d, {",
          name, fused->single, fused->given, bytes[0], bytes[1], bytes[2], bytes[3]);
  for (int i = 0; i < CVY_PROGRAM_RESULTS; i++) fprintf(programs, "%d, ", fused->program.result[i]);
  fprintf(programs, "}, {");
  for (int i = 0; i < fused->program.instructions; i++) {
    cvy_instruction code = fused->program.code[i];
    fprintf(programs, "{%d, {%d, %d, %d}}, ", code.op, code.in[0], code.in[1], code.in[2]);
  }
  fprintf(programs, "}, {");
  for (int i = 0; i < fused->program.constants; i++)
    fprintf(programs, "%af, ", (double)fused->program.constant[i]);
  fprintf(programs, "}}},\n");
}

static void add(FILE *loops, FILE *programs, const cvy_fused_program *fused, const char *name) {
  static char text[1 << 16];
  cvy_program_uses uses = cvy_program_uses_of(&fused->program);
  for (int i = 0; i < count; i++)
    if (memcmp(&known[i], fused, sizeof *fused) == 0) return;
  if (count == MOST) give_up("too many programs");
  if (uses.axes || uses.random) return; /* they are interpreted */
  cvy_text function = cvy_text_in(text, sizeof text);
  char called[32];
  snprintf(called, sizeof called, "fused_%d", count);
  cvy_program_function(&fused->program, called, &function);
  if (function.overflow) give_up("the function is too long");
  fprintf(loops, "\n/* %s */\n%s\n", name, text);
  write_loop(loops, fused, count);
  write_program(programs, fused, name);
  known[count++] = *fused;
}

/* ------------------------------------------------------------------------------------ the list */

static void add_gradient(FILE *loops, FILE *programs, const cvy_fused_program *of, uint32_t wanted,
                         uint32_t readable, const char *name) {
  cvy_program_gradient gradient;
  cvy_fused_program fused;
  uint32_t all = (1u << of->program.results) - 1;
  memset(&fused, 0, sizeof fused);
  if (cvy_program_gradient_of(&of->program, wanted, all, readable, &gradient))
    give_up(cvy_last_error());
  fused.program = gradient.program;
  for (int i = 0; i < gradient.program.inputs; i++) {
    if (gradient.source[i].kind == CVY_SOURCE_INPUT && is_single(of, gradient.source[i].number))
      fused.single |= 1u << i;
  }
  add(loops, programs, &fused, name);
}

static void add_named(FILE *loops, FILE *programs, const cvy_named_program *named) {
  char gradient_name[64];
  cvy_fused_program fused;
  cvy_program_names names;
  cvy_reduction how;
  memset(&fused, 0, sizeof fused);
  if (cvy_named_parse(named, &fused.program, &how, &names)) give_up(cvy_last_error());
  fused.single = cvy_named_inputs(named->numbers, &fused.program, &names);
  add(loops, programs, &fused, named->name);
  uint32_t wanted = cvy_named_inputs(named->gradients, &fused.program, &names);
  snprintf(gradient_name, sizeof gradient_name, "the gradient of %s", named->name);
  if (!wanted) return;
  add_gradient(loops, programs, &fused, wanted, 0, gradient_name);
  add_gradient(loops, programs, &fused, wanted, ~0u, gradient_name);
}

/* A line has names of the inputs that are one number for a run of elements, a colon, and a program.
 * An input called share is one of them; it stands for a constant of any value, and is the last. */
static void add_planned(FILE *loops, FILE *programs, char *line) {
  cvy_fused_program fused;
  cvy_program_names names;
  cvy_reduction how;
  char *text = strstr(line, ": ");
  memset(&fused, 0, sizeof fused);
  if (!text) give_up("a line without a colon");
  *text = '\0';
  text += strlen(": ");
  if (cvy_reduction_parse(text, &fused.program, &how, &names)) give_up(cvy_last_error());
  fused.single = cvy_named_inputs(line, &fused.program, &names);
  fused.given = strcmp(names.input[fused.program.inputs - 1], "share") == 0;
  add(loops, programs, &fused, text);
}

static void add_list(FILE *loops, FILE *programs, const char *path) {
  char line[LINE];
  FILE *list = open_or_give_up(path, "r");
  current = path;
  while (fgets(line, sizeof line, list)) {
    size_t length = strcspn(line, "\n");
    if (!line[length]) give_up("a line is too long");
    line[length] = '\0';
    if (line[0] != '#') add_planned(loops, programs, line);
  }
  fclose(list);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s LOOPS PROGRAMS PLANNED...\n", argv[0]);
    return EXIT_FAILURE;
  }
  FILE *loops = open_or_give_up(argv[1], "w"), *programs = open_or_give_up(argv[2], "w");
  static const char *const origin =
      "/* Made of src/program/named.c and src/cpu/program/planned_*.txt. */\n";
  fputs(origin, loops);
  fputs(origin, programs);
  for (int i = 0; i < cvy_named_count; i++) {
    current = cvy_named_programs[i].name;
    add_named(loops, programs, &cvy_named_programs[i]);
  }
  for (int i = 3; i < argc; i++) add_list(loops, programs, argv[i]);
  fprintf(loops, "\nstatic cvy_fused_loop *const fused_loops[] = {\n");
  for (int i = 0; i < count; i++) fprintf(loops, "    fused_loop_%d,\n", i);
  fprintf(loops, "};\n");
  bool failed = ferror(loops) || ferror(programs);
  failed |= fclose(loops) || fclose(programs);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
