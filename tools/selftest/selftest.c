/* `convoy selftest` runs every algorithm of every device on small problems, without tolerance: the
 * data are whole numbers, so that every partial sum is exact. */
#include "selftest/selftest.h"

#include <string.h>

#include "commands.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/progress.h"
#include "common/shapes.h"
#include "selftest/problems.h"
#include "selftest/programs.h"
#include "selftest/sample.h"

enum { ROWS_MOST = 32, PROGRAMS = CONVOY_DIRECTIONS, KINDS };

typedef struct tally {
  int ran, refused, failed;
} tally;

typedef struct selftest {
  const selftest_options *options;
  FILE *out;
  device_list devices;
  int rows[DEVICES_MOST]; /* algorithms of each device */
  const char *names[DEVICES_MOST][ROWS_MOST];
  tally tallies[DEVICES_MOST][ROWS_MOST][KINDS]; /* of directions, of programs and reductions */
  convoy_context *cpu;                           /* whose results programs have */
  progress line;
} selftest;

/* -------------------------------------------------------------------------------------- checks */

static void print_failure(selftest *test, const char *text, const device *where,
                          const char *algorithm, const char *way, const char *why) {
  progress_clear(&test->line);
  fprintf(test->out, "FAILED %s, %s: %s\n", algorithm, way, why);
  fprintf(test->out, "  convoy selftest --device %s --algorithm %s --shape '%s'\n", where->info.id,
          algorithm, text);
}

static bool check_all_ways(selftest *test, sample *what, device *where, const convoy_plan *plan) {
  bool good = true;
  for (int way = 0; way < SAMPLE_WAYS && !interrupted(); way++) {
    interrupt_reaches(where->context);
    outcome result = sample_check(what, where, plan, way);
    interrupt_reaches(NULL);
    if (result.good || result.status == CONVOY_ERR_INTERRUPTED) continue;
    good = false;
    print_failure(test, what->text, where, plan->algorithm, sample_ways[way].name, result.why);
    if (result.status == CONVOY_ERR_DEVICE) device_reopen(where);
  }
  return good;
}

/* An algorithm refuses with a reason, or is run in every way. */
static void check_row(selftest *test, sample *what, device *where, const char *algorithm,
                      tally *to) {
  const problem *shape = &what->shape;
  convoy_plan plan = {.struct_size = sizeof plan};
  bool planned = convoy_set_algorithm(where->context, algorithm) == CONVOY_OK &&
                 convoy_plan_problem(where->context, algorithm, &shape->conv, shape->direction,
                                     shape->x_shape, shape->w_shape, &plan) == CONVOY_OK;
  if (!planned) {
    print_failure(test, what->text, where, algorithm, "plan", convoy_last_error());
    to->failed++;
  } else if (!plan.accepted) {
    to->refused++;
    if (!test->options->verbose) return;
    progress_clear(&test->line);
    fprintf(test->out, "refused by %s: %s: %s\n", algorithm, what->text, plan.reason);
  } else if (check_all_ways(test, what, where, &plan)) {
    to->ran += !interrupted();
  } else {
    to->failed++;
  }
}

static bool wanted(const words *names, const char *algorithm) {
  bool found = names->count == 0;
  for (int i = 0; i < names->count; i++)
    found = found || strcmp(names->item[i], "all") == 0 || strcmp(names->item[i], algorithm) == 0;
  return found;
}

static void check_sample(selftest *test, sample *what) {
  for (int d = 0; d < test->devices.count; d++) {
    device *where = &test->devices.item[d];
    for (int row = 0; row < test->rows[d] && !interrupted(); row++) {
      const char *algorithm = test->names[d][row];
      tally *to = &test->tallies[d][row][what->shape.direction];
      if (wanted(&test->options->algorithms, algorithm))
        check_row(test, what, where, algorithm, to);
    }
  }
}

/* ------------------------------------------------------------------------------------ programs */

static void refuse(const selftest *test, const char *text, const char *algorithm,
                   const char *reason) {
  if (!test->options->verbose) return;
  progress_clear(&test->line);
  fprintf(test->out, "refused by %s: %s: %s\n", algorithm, text, reason);
}

static void check_program_row(selftest *test, operation *what, device *where, const char *algorithm,
                              tally *to) {
  bool failed = false, refused = false;
  for (int way = 0; way < PROGRAM_WAYS && !refused && !interrupted(); way++) {
    if (!program_has_way(what, way)) continue;
    interrupt_reaches(where->context);
    outcome result = program_check(what, test->cpu, where, algorithm, way);
    interrupt_reaches(NULL);
    refused = result.status == CONVOY_ERR_UNSUPPORTED;
    if (refused) refuse(test, what->text, algorithm, result.why);
    if (refused || result.good || result.status == CONVOY_ERR_INTERRUPTED) continue;
    failed = true;
    print_failure(test, what->text, where, algorithm, program_ways[way], result.why);
    if (result.status == CONVOY_ERR_DEVICE) device_reopen(where);
  }
  to->failed += failed;
  to->refused += refused;
  to->ran += !failed && !refused && !interrupted();
}

static int check_program(selftest *test, const program_sample *from) {
  operation what;
  progress_show(&test->line, from->text);
  if (operation_read(from->text, &what) != CONVOY_OK) {
    progress_clear(&test->line);
    fprintf(stderr, "convoy selftest: %s: %s\n", from->text, convoy_last_error());
    return EXIT_USAGE;
  }
  bool made = operation_fill(&what, fill_real, from->offset);
  if (!made) fprintf(stderr, "convoy selftest: %s: out of memory\n", from->text);
  for (int d = 0; d < test->devices.count && made; d++) {
    for (int row = 0; row < test->rows[d] && !interrupted(); row++) {
      if (wanted(&test->options->algorithms, test->names[d][row]))
        check_program_row(test, &what, &test->devices.item[d], test->names[d][row],
                          &test->tallies[d][row][PROGRAMS]);
    }
  }
  operation_free(&what);
  if (!interrupted()) progress_step(&test->line);
  return made ? EXIT_FINE : EXIT_FAILED;
}

/* --------------------------------------------------------------------------------------- lists */

/* Parses and checks one line of the problem grammar. */
static int check_problem(selftest *test, const char *text) {
  sample what = {0};
  what.text = text;
  if (!shapes_parse(text, &what.shape)) {
    fprintf(stderr, "convoy selftest: %s: %s\n", text, convoy_last_error());
    return EXIT_USAGE;
  }
  progress_show(&test->line, text);
  if (!sample_make(&what)) {
    fprintf(stderr, "convoy selftest: %s: out of memory\n", text);
    return EXIT_FAILED;
  }
  check_sample(test, &what);
  sample_free(&what);
  if (!interrupted()) progress_step(&test->line);
  return EXIT_FINE;
}

static int check_programs(selftest *test) {
  int status = EXIT_FINE;
  program_sample from;
  for (int i = 0; status == EXIT_FINE && !interrupted() && program_sample_at(i, &from); i++)
    status = check_program(test, &from);
  return status;
}

/* A program's text has the extents behind this word. Other families are checked as programs are. */
static bool is_program(const char *text) {
  return strstr(text, " on ") != NULL || operation_family(text);
}

static int check_text(selftest *test, const char *text) {
  program_sample from = {.offset = 0.0f};
  if (!is_program(text)) return check_problem(test, text);
  if (strlen(text) < sizeof from.text) {
    strcpy(from.text, text);
    return check_program(test, &from);
  }
  fprintf(stderr, "convoy selftest: a text of %zu bytes\n", strlen(text));
  return EXIT_USAGE;
}

static int check_list(selftest *test) {
  int status = EXIT_FINE;
  for (int i = 0; selftest_problems[i] && status == EXIT_FINE; i++) {
    for (int d = 0; d < CONVOY_DIRECTIONS && status == EXIT_FINE && !interrupted(); d++) {
      char text[CONVOY_PROBLEM_TEXT];
      snprintf(text, sizeof text, "%s %s", selftest_problems[i], direction_roles[d].name);
      status = check_problem(test, text);
    }
  }
  return status == EXIT_FINE ? check_programs(test) : status;
}

static int check_texts(selftest *test, const words *texts) {
  int status = EXIT_FINE;
  for (int i = 0; i < texts->count && status == EXIT_FINE && !interrupted(); i++)
    status = check_text(test, texts->item[i]);
  return status;
}

/* ------------------------------------------------------------------------------------- summary */

/* Algorithms of one family refuse all of the other, which needs no line. */
static bool is_told(const tally *row, int kind) {
  const tally *programs = &row[PROGRAMS];
  bool does_programs = programs->ran + programs->failed > 0, does_others = !does_programs;
  for (int i = 0; i < CONVOY_DIRECTIONS; i++) does_others |= row[i].ran + row[i].failed > 0;
  return kind == PROGRAMS ? does_programs : does_others;
}

/* Writes one line per direction, and one for programs. Adds up what they say. */
static tally print_row(const selftest *test, int d, int row, tally *convolutions, tally *programs) {
  tally all = {0, 0, 0};
  for (int kind = 0; kind < KINDS; kind++) {
    const tally *one = &test->tallies[d][row][kind];
    tally *sum = kind == PROGRAMS ? programs : convolutions;
    const char *name = kind == PROGRAMS ? "program" : direction_roles[kind].name;
    if (is_told(test->tallies[d][row], kind))
      fprintf(test->out, "%-8s %-24s %-18s %5d %8d %7d\n", test->devices.item[d].info.id,
              test->names[d][row], name, one->ran, one->refused, one->failed);
    all.ran += one->ran;
    all.failed += one->failed;
    sum->ran += one->ran;
    sum->failed += one->failed;
  }
  return all;
}

/* If the user names problems, it is enough that one algorithm takes some. Of the built-in list each
 * must take some. */
static bool print_summary(const selftest *test, tally *convolutions, tally *programs) {
  int ran = 0, failed = 0, idle = 0;
  fprintf(test->out, "%-8s %-24s %-18s %5s %8s %7s\n", "device", "algorithm", "direction", "ran",
          "refused", "failed");
  for (int d = 0; d < test->devices.count; d++) {
    for (int row = 0; row < test->rows[d]; row++) {
      if (!wanted(&test->options->algorithms, test->names[d][row])) continue;
      tally all = print_row(test, d, row, convolutions, programs);
      ran += all.ran;
      failed += all.failed;
      idle += all.ran == 0;
    }
  }
  return failed == 0 && ran > 0 && (idle == 0 || test->options->texts.count > 0);
}

/* Names are kept, because a device that is lost can no longer be asked. */
static void list_rows(selftest *test) {
  for (int d = 0; d < test->devices.count; d++) {
    const char *name = NULL;
    while (test->rows[d] < ROWS_MOST &&
           (name = convoy_algorithm_name(test->devices.item[d].context, test->rows[d])))
      test->names[d][test->rows[d]++] = name;
  }
}

static int conclude(const selftest *test) {
  tally convolutions = {0, 0, 0}, programs = {0, 0, 0};
  bool good = print_summary(test, &convolutions, &programs) && test->devices.failed == 0;
  if (interrupted()) {
    fprintf(test->out, "selftest INCOMPLETE: %s after %d of %d problems\n", interrupt_text(),
            test->line.done, test->line.total);
  } else {
    fprintf(test->out, "selftest %s: %d convolutions, %d programs and reductions; %d failed\n",
            good ? "passed" : "FAILED", convolutions.ran, programs.ran,
            convolutions.failed + programs.failed);
  }
  return good ? EXIT_FINE : EXIT_FAILED;
}

int selftest_run(const selftest_options *options, FILE *out) {
  selftest test = {.options = options, .out = out};
  int status = devices_open(&options->devices, &test.devices);
  if (status != EXIT_FINE) return status;
  list_rows(&test);
  int problems = 0;
  program_sample unused;
  while (selftest_problems[problems]) problems++;
  problems *= CONVOY_DIRECTIONS;
  for (int i = 0; program_sample_at(i, &unused); i++) problems++;
  const words *texts = &options->texts;
  test.line = progress_start(texts->count ? texts->count : problems, options->progress);
  convoy_options for_cpu = CONVOY_OPTIONS_INIT;
  for_cpu.device = "cpu";
  if (convoy_open(&for_cpu, &test.cpu) != CONVOY_OK) {
    fprintf(stderr, "convoy selftest: cpu: %s\n", convoy_last_error());
    devices_close(&test.devices);
    return EXIT_NO_DEVICE;
  }
  status = devices_check_algorithms(&test.devices, &options->algorithms);
  if (status == EXIT_FINE) {
    status = texts->count ? check_texts(&test, texts) : check_list(&test);
    progress_clear(&test.line);
  }
  if (status == EXIT_FINE) status = conclude(&test);
  convoy_close(test.cpu);
  devices_close(&test.devices);
  return interrupt_status(status);
}

static const usage about = {
    "selftest",
    "Runs every algorithm of every device on small problems of ranks 1 to 3, all directions, from\n"
    "host memory and on tensors, and compares every element with a reference, without tolerance.\n"
    "Programs and reductions, all that have a name among them, are compared bit for bit with the "
    "CPU\n"
    "engine's results, and with a float64 reference within what rounding can do, matrix products,\n"
    "pooling, moves and resampling with the reference alone. It passes if nothing failed and "
    "every\n"
    "algorithm ran at least once; a refusal is no failure.",
    "examples:\n"
    "  convoy selftest\n"
    "  convoy selftest --device cpu,ocl:0 --verbose\n"
    "  convoy selftest --device ocl:0 --algorithm ocl.direct \\\n"
    "      --shape 'n2c3h7w9 k5r3s2 pad1 backward_data'\n"
    "  convoy selftest --shape 'y = x * sigmoid(x + b) on n2c3h5w7 b:channel' 'silu on n2c3w9'\n",
};

int selftest_main(int argc, char **argv) {
  selftest_options set = {0};
  const option table[] = {
      {"--device", "all|NAME,...", OPTION_WORDS, &set.devices,
       "cpu, ocl:0, part of a name (CONVOY_DEVICE, else all)"},
      {"--algorithm", "all|NAME,...", OPTION_WORDS, &set.algorithms, "only these (all)"},
      {"--shape", "TEXT...", OPTION_FILES, &set.texts,
       "these problems only, as logs and reports print them"},
      {"--problem", "TEXT...", OPTION_FILES, &set.texts, "the same, as older reports call it"},
      {"--verbose", NULL, OPTION_FLAG, &set.verbose, "show why a problem was refused"},
      {"--progress", NULL, OPTION_FLAG, &set.progress,
       "progress line even if stderr is not a terminal"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  interrupt_catch();
  return selftest_run(&set, stdout);
}
