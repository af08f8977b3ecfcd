/* `convoy report`: what the owner of a card sends to someone who has none. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "health.h"
#include "info.h"
#include "progress.h"
#include "selftest.h"
#include "tool.h"

static const usage about = {
    "report",
    "Writes info, recorded faults, selftest and a quick bench of the tables yolov8n_rx5600xt and "
    "eeg into one text\n"
    "file, with the bench's JSON lines at its end. It names hardware, drivers and settings, but\n"
    "not the host, and writes ~ for the home folder.",
    "example:\n  convoy report --output my-card.txt\n",
};

typedef struct report_options {
  words devices, shapes;
  const char *output;
  bool progress;
} report_options;

static int write_bench(const report_options *set, FILE *out, FILE *json) {
  bench_options bench = bench_defaults();
  bench.shapes = set->shapes;
  bench.devices = set->devices;
  bench.quick = true;
  bench.progress = set->progress;
  bench.command = "convoy report";
  return bench_run(&bench, out, json);
}

/* Where nothing is asked for. PoCL's selftest takes two minutes, and is no news of the GPU. */
static void choose_devices(report_options *set) {
  static device_survey found;
  const char *chosen = getenv("CONVOY_DEVICE");
  if (set->devices.count > 0 || (chosen && *chosen)) return;
  if (devices_list_all(&found) == CONVOY_OK) devices_beside_gpu(&found, &set->devices);
}

static void append(FILE *to, FILE *from) {
  char buffer[4096];
  size_t count;
  rewind(from);
  while ((count = fread(buffer, 1, sizeof buffer, from)) > 0) fwrite(buffer, 1, count, to);
}

/* Whoever waits sees what for. */
static double begin_part(FILE *out, const char *name) {
  fprintf(out, "\n## %s\n\n", name);
  fflush(out);
  printf("%s ...", name);
  fflush(stdout);
  return seconds_now();
}

static void end_part(FILE *out, double start) {
  const double took = seconds_now() - start;
  fprintf(out, "\n%.0f s\n", took);
  printf(" %.0f s\n", took);
}

/* Each part is written however the one before ended: a report of a failure is what it is for. */
static int write_all(const report_options *set, FILE *out, FILE *json) {
  selftest_options test = {.devices = set->devices, .progress = set->progress};
  int status[4];
  fputs("# convoy report\n\n## info\n\n", out);
  status[0] = info_print(out);
  fputs("\n## health\n\n", out);
  status[1] = health_print(out, NULL);
  health_print_newest(out);
  double start = begin_part(out, "selftest");
  status[2] = selftest_run(&test, out);
  end_part(out, start);
  start = begin_part(out, "bench, quick");
  status[3] = status[2] == EXIT_NO_DEVICE ? EXIT_NO_DEVICE : write_bench(set, out, json);
  end_part(out, start);
  fputs("\n## bench, JSON lines\n\n", out);
  append(out, json);
  int worst = EXIT_FINE;
  for (int i = 0; i < 4; i++) worst = status[i] > worst ? status[i] : worst;
  return worst;
}

static int write_report(const report_options *set) {
  FILE *json = tmpfile();
  FILE *out = json ? fopen(set->output, "w") : NULL;
  int status = EXIT_USAGE;
  if (out) {
    status = write_all(set, out, json);
    if (fclose(out) != 0) status = EXIT_FAILED;
    printf("%s written\n", set->output);
  } else {
    perror(set->output);
  }
  if (json) fclose(json);
  return status;
}

int report_main(int argc, char **argv) {
  report_options set = {.output = "convoy-report.txt"};
  const option table[] = {
      {"--output", "FILE", OPTION_TEXT, &set.output, "the file to write (convoy-report.txt)"},
      {"--device", "all|NAME,...", OPTION_WORDS, &set.devices,
       "cpu, ocl:0, part of a name (CONVOY_DEVICE, else all; beside a GPU without PoCL)"},
      {"--shapes", "FILE...", OPTION_FILES, &set.shapes,
       "shape tables to time (yolov8n_rx5600xt and eeg)"},
      {"--progress", NULL, OPTION_FLAG, &set.progress,
       "progress line even if stderr is not a terminal"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  static const char *const standard[] = {"yolov8n_rx5600xt", "eeg"};
  const int missing = set.shapes.count == 0 ? 2 : 0;
  for (int i = 0; i < missing; i++) words_add(&set.shapes, standard[i], strlen(standard[i]));
  choose_devices(&set);
  return write_report(&set);
}
