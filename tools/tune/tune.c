/* `convoy tune` goes through tables, layers and passes. Each problem gets its share of the time
 * that is left. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/clock.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/places.h"
#include "common/progress.h"
#include "common/shapes.h"
#include "convoy/convoy.h"

static const usage about = {
    "tune",
    "Looks for the fastest algorithm and parameters for every layer of shape tables, and "
    "writes "
    "them\n"
    "into the tuning file, where every program that uses Convoy finds them. A candidate counts "
    "only "
    "if\n"
    "its whole result is right. Ctrl-C ends it: what has been found is kept.",
    "examples:\n"
    "  convoy tune --shapes yolov8n_b4                      the device that `auto` takes\n"
    "  convoy tune --shapes my_net.csv --device gfx1010 --budget 120\n"
    "  CONVOY_LOG=debug convoy tune --shapes eeg            shows every candidate\n",
};

typedef struct tuning {
  words files, texts, devices, pass_names;
  shapes shapes;
  double budget; /* seconds per table and device */
  bool progress;
  progress line;
  int failed;
} tuning;

typedef struct table_sums {
  int done, left;
  double untuned, tuned; /* ms, each layer as often as it occurs */
} table_sums;

static void print_found(const layer *from, const char *pass, const convoy_tuned *found) {
  if (!found->kept) {
    printf("  %-24s %-16s stays as it is: %s\n", from->name, pass, found->reason);
    return;
  }
  printf("  %-24s %-16s %9.4f -> %9.4f ms  %s %s  (%d tried", from->name, pass, found->untuned_ms,
         found->milliseconds, found->algorithm, found->parameters, (int)found->tried);
  printf(found->failed ? ", %d failed)\n" : ")\n", (int)found->failed);
}

/* What failed is worth repeating alone. */
static void print_problem(const problem *shape, convoy_direction direction) {
  char text[CONVOY_PROBLEM_TEXT];
  if (convoy_format_problem(&shape->conv, shape->x_shape, shape->w_shape, direction, text,
                            sizeof text) == CONVOY_OK)
    printf("    %s\n", text);
}

static void tune_problem(tuning *all, device *where, const layer *from, convoy_direction direction,
                         double seconds, table_sums *sums) {
  const problem *shape = &from->shape;
  const char *pass = direction_roles[direction].name;
  convoy_tuned found = {.struct_size = sizeof found};
  char now[128];
  snprintf(now, sizeof now, "%s %.40s %s", where->info.id, from->name, pass);
  progress_show(&all->line, now);
  interrupt_reaches(where->context);
  convoy_status status = convoy_tune(where->context, &shape->conv, direction, shape->x_shape,
                                     shape->w_shape, seconds, &found);
  interrupt_reaches(NULL);
  progress_clear(&all->line);
  if (status == CONVOY_ERR_INTERRUPTED) return;
  progress_step(&all->line);
  if (status != CONVOY_OK) {
    printf("  %-24s %-16s failed: %s\n", from->name, pass, convoy_last_error());
    print_problem(shape, direction);
    all->failed++;
    if (status == CONVOY_ERR_DEVICE) device_reopen(where);
    return;
  }
  print_found(from, pass, &found);
  fflush(stdout);
  sums->done++;
  if (!found.kept) return;
  sums->untuned += (double)from->count * found.untuned_ms;
  sums->tuned += (double)from->count * found.milliseconds;
}

/* The device's compilers learn what comes, the first problem last: they begin with the newest. */
static void prepare_table(const tuning *all, const device *where, const layer_table *table) {
  for (int l = table->count - 1; l >= 0; l--) {
    const problem *shape = &table->layers[l].shape;
    passes each = shapes_passes(&all->shapes, table, &table->layers[l]);
    for (int d = each.count - 1; d >= 0; d--)
      convoy_prepare(where->context, &shape->conv, each.item[d], shape->x_shape, shape->w_shape);
  }
}

static void tune_table(tuning *all, device *where, const layer_table *table) {
  double start = seconds_now();
  table_sums sums = {.left = shapes_problems_of(&all->shapes, table)};
  printf("%s on %s (%s), at most %.0f s\n", table->name, where->info.id, where->info.name,
         all->budget);
  prepare_table(all, where, table);
  for (int l = 0; l < table->count; l++) {
    passes each = shapes_passes(&all->shapes, table, &table->layers[l]);
    for (int d = 0; d < each.count && where->context && !interrupted(); d++) {
      double left = all->budget - (seconds_now() - start);
      double share = left > 0.0 ? left / sums.left : 1e-3;
      tune_problem(all, where, &table->layers[l], each.item[d], share, &sums);
      sums.left--;
    }
  }
  printf("%s: %d problems in %.1f s, together %.3f -> %.3f ms%s\n", table->name, sums.done,
         seconds_now() - start, sums.untuned, sums.tuned,
         interrupted() ? "; interrupted, what was found is kept" : "");
}

static int tune_tables(tuning *all, device_list *devices) {
  int problems = shapes_problems(&all->shapes);
  all->line = progress_start(problems * devices->count, all->progress);
  for (int d = 0; d < devices->count; d++) {
    for (int t = 0; t < all->shapes.table_count && !interrupted(); t++)
      tune_table(all, &devices->item[d], &all->shapes.tables[t]);
  }
  if (interrupted()) {
    printf("tune INCOMPLETE: %s after %d of %d problems\n", interrupt_text(), all->line.done,
           all->line.total);
  }
  return interrupt_status(all->failed ? EXIT_FAILED : EXIT_FINE);
}

/* This is better known before hours of measuring than after. */
static int check_file(void) {
  char path[4096];
  bool named = places_tune_file(path, sizeof path);
  int why = named ? places_check_writable(path) : 0;
  if (named && why == 0) return EXIT_FINE;
  fprintf(stderr, "convoy tune: %s%s%s\n", named ? path : "there is no place for the tuning file: ",
          named ? " cannot be written: " : "",
          named ? strerror(why) : "neither --file, CONVOY_TUNE_FILE nor HOME is set");
  return EXIT_USAGE;
}

static int run(tuning *all) {
  device_list devices = {0};
  int status = shapes_open("tune", &all->files, &all->texts, &all->pass_names, &all->shapes);
  if (status == EXIT_FINE) status = check_file();
  interrupt_catch();
  if (status == EXIT_FINE) status = devices_open(&all->devices, &devices);
  if (status == EXIT_FINE) {
    status = tune_tables(all, &devices);
    devices_close(&devices);
  }
  shapes_close(&all->shapes);
  return status;
}

int tune_main(int argc, char **argv) {
  tuning all = {.budget = 240.0};
  const char *file = NULL;
  const option table[] = {
      {"--shapes", "FILE...", OPTION_FILES, &all.files, "shape tables, or names of installed ones"},
      {"--shape", "TEXT...", OPTION_FILES, &all.texts,
       "problems as logs and reports print them: 'n2c3h7w9 k5r3s2 pad1 forward'"},
      {"--device", "all|NAME,...", OPTION_WORDS, &all.devices,
       "cpu, ocl:0, part of a name (CONVOY_DEVICE, else auto)"},
      {"--pass", "NAME,...", OPTION_WORDS, &all.pass_names,
       "forward, backward_data, backward_weights, backward_bias (the first three)"},
      {"--budget", "S", OPTION_SECONDS, &all.budget, "seconds per table and device (240)"},
      {"--file", "FILE", OPTION_TEXT, &file, "tuning file (CONVOY_TUNE_FILE, else the user's)"},
      {"--progress", NULL, OPTION_FLAG, &all.progress,
       "progress line even if stderr is not a terminal"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  if (all.files.count + all.texts.count == 0) {
    fputs("convoy tune: --shapes or --shape is needed; see `convoy tune --help`\n", stderr);
    return EXIT_USAGE;
  }
  if (file) setenv("CONVOY_TUNE_FILE", file, 1);
  if (all.devices.count == 0 && !getenv("CONVOY_DEVICE")) words_add(&all.devices, "auto", 4);
  return run(&all);
}
