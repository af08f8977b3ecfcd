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
#include "selftest/sample.h"

enum { ROWS_MOST = 32 };

typedef struct tally {
  int ran, refused, failed;
} tally;

typedef struct selftest {
  const selftest_options *options;
  FILE *out;
  device_list devices;
  int rows[DEVICES_MOST]; /* algorithms of each device */
  const char *names[DEVICES_MOST][ROWS_MOST];
  tally tallies[DEVICES_MOST][ROWS_MOST][CONVOY_DIRECTIONS];
  progress line;
} selftest;

/* -------------------------------------------------------------------------------------- checks */

static void print_failure(selftest *test, const sample *what, const device *where,
                          const char *algorithm, const char *way, const char *why) {
  progress_clear(&test->line);
  fprintf(test->out, "FAILED %s, %s: %s\n", algorithm, way, why);
  fprintf(test->out, "  convoy selftest --device %s --algorithm %s --shape '%s'\n", where->info.id,
          algorithm, what->text);
}

static bool check_all_ways(selftest *test, sample *what, device *where, const convoy_plan *plan) {
  bool good = true;
  for (int way = 0; way < SAMPLE_WAYS && !interrupted(); way++) {
    interrupt_reaches(where->context);
    outcome result = sample_check(what, where, plan, way);
    interrupt_reaches(NULL);
    if (result.good || result.status == CONVOY_ERR_INTERRUPTED) continue;
    good = false;
    print_failure(test, what, where, plan->algorithm, sample_ways[way].name, result.why);
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
    print_failure(test, what, where, algorithm, "plan", convoy_last_error());
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

static int check_list(selftest *test) {
  int status = EXIT_FINE;
  for (int i = 0; selftest_problems[i] && status == EXIT_FINE; i++) {
    for (int d = 0; d < CONVOY_DIRECTIONS && status == EXIT_FINE && !interrupted(); d++) {
      char text[CONVOY_PROBLEM_TEXT];
      snprintf(text, sizeof text, "%s %s", selftest_problems[i], direction_roles[d].name);
      status = check_problem(test, text);
    }
  }
  return status;
}

static int check_texts(selftest *test, const words *texts) {
  int status = EXIT_FINE;
  for (int i = 0; i < texts->count && status == EXIT_FINE && !interrupted(); i++)
    status = check_problem(test, texts->item[i]);
  return status;
}

/* ------------------------------------------------------------------------------------- summary */

/* Writes one line per direction. Returns what they add up to. */
static tally print_row(const selftest *test, int d, int row) {
  tally all = {0, 0, 0};
  for (int direction = 0; direction < CONVOY_DIRECTIONS; direction++) {
    const tally *one = &test->tallies[d][row][direction];
    fprintf(test->out, "%-8s %-24s %-18s %5d %8d %7d\n", test->devices.item[d].info.id,
            test->names[d][row], direction_roles[direction].name, one->ran, one->refused,
            one->failed);
    all.ran += one->ran;
    all.failed += one->failed;
  }
  return all;
}

/* If the user names problems, it is enough that one algorithm takes some. Of the built-in list each
 * must take some. */
static bool print_summary(const selftest *test) {
  int ran = 0, failed = 0, idle = 0;
  fprintf(test->out, "%-8s %-24s %-18s %5s %8s %7s\n", "device", "algorithm", "direction", "ran",
          "refused", "failed");
  for (int d = 0; d < test->devices.count; d++) {
    for (int row = 0; row < test->rows[d]; row++) {
      if (!wanted(&test->options->algorithms, test->names[d][row])) continue;
      tally all = print_row(test, d, row);
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
  bool good = print_summary(test) && test->devices.failed == 0;
  if (interrupted()) {
    fprintf(test->out, "selftest INCOMPLETE: %s after %d of %d problems\n", interrupt_text(),
            test->line.done, test->line.total);
  } else {
    fprintf(test->out, "selftest %s\n", good ? "passed" : "FAILED");
  }
  return good ? EXIT_FINE : EXIT_FAILED;
}

int selftest_run(const selftest_options *options, FILE *out) {
  selftest test = {.options = options, .out = out};
  int status = devices_open(&options->devices, &test.devices);
  if (status != EXIT_FINE) return status;
  list_rows(&test);
  int problems = 0;
  while (selftest_problems[problems]) problems++;
  const words *texts = &options->texts;
  test.line =
      progress_start(texts->count ? texts->count : problems * CONVOY_DIRECTIONS, options->progress);
  status = devices_check_algorithms(&test.devices, &options->algorithms);
  if (status == EXIT_FINE) {
    status = texts->count ? check_texts(&test, texts) : check_list(&test);
    progress_clear(&test.line);
  }
  if (status == EXIT_FINE) status = conclude(&test);
  devices_close(&test.devices);
  return interrupt_status(status);
}

static const usage about = {
    "selftest",
    "Runs every algorithm of every device on small problems of ranks 1 to 3, all directions, from\n"
    "host memory and on tensors, and compares every element with a reference, without tolerance.\n"
    "It passes if nothing failed and every algorithm ran at least once; a refusal is no failure.",
    "examples:\n"
    "  convoy selftest\n"
    "  convoy selftest --device cpu,ocl:0 --verbose\n"
    "  convoy selftest --device ocl:0 --algorithm ocl.direct \\\n"
    "      --shape 'n2c3h7w9 k5r3s2 pad1 backward_data'\n",
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
