/* `convoy report` writes what the owner of a card sends to someone who has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "commands.h"
#include "common/clock.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/options.h"
#include "common/output.h"
#include "report/health.h"
#include "report/info.h"
#include "selftest/selftest.h"

static const usage about = {
    "report",
    "Writes info, recorded faults, selftest and a quick bench of the tables yolov8n_rx5600xt "
    "and "
    "eeg into one text\n"
    "file, with the bench's JSON lines at its end. It names hardware, drivers and settings, "
    "but\n"
    "not the host, and writes ~ for the home folder.",
    "example:\n  convoy report --output my-card.txt\n",
};

typedef struct report_options {
  words devices, shapes;
  const char *output;
  bool progress;
} report_options;

/* Chooses where nothing is asked for. PoCL's selftest takes two minutes, and is no news of
 * the GPU. */
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

/* Whoever waits is to see what for. */
static double begin_part(FILE *out, const char *name) {
  fprintf(out, "\n## %s\n\n", name);
  fflush(out);
  printf("%s ...", name);
  fflush(stdout);
  return seconds_now();
}

static void end_part(FILE *out, double start) {
  double took = seconds_now() - start;
  fprintf(out, "\n%.0f s\n", took);
  printf(" %.0f s\n", took);
}

static int write_selftest(const report_options *set, FILE *out) {
  selftest_options test = {.devices = set->devices, .progress = set->progress};
  double start = begin_part(out, "selftest");
  int status = selftest_run(&test, out);
  end_part(out, start);
  return status;
}

static int write_bench(const report_options *set, FILE *out) {
  bench_options bench = bench_defaults();
  FILE *lines = tmpfile();
  if (!lines) return EXIT_FAILED;
  bench.shapes = set->shapes;
  bench.devices = set->devices;
  bench.quick = true;
  bench.progress = set->progress;
  bench.command = "convoy report";
  double start = begin_part(out, "bench, quick");
  int status = bench_run(&bench, out, lines);
  end_part(out, start);
  fputs("\n## bench, JSON lines\n\n", out);
  append(out, lines);
  fclose(lines);
  return status;
}

/* Each part is written however the one before ended: a report of a failure is what it is for. */
static int write_all(const report_options *set, FILE *out) {
  int status[4] = {EXIT_FINE};
  fputs("# convoy report, ", out);
  output_state state = output_begin_text(out);
  fputs("\n\n## info\n\n", out);
  status[0] = info_print(out);
  fputs("\n## health\n\n", out);
  status[1] = health_print(out, NULL);
  health_print_newest(out);
  if (!interrupted()) status[2] = write_selftest(set, out);
  if (!interrupted() && status[2] != EXIT_NO_DEVICE) status[3] = write_bench(set, out);
  if (interrupted())
    fprintf(out, "\nINCOMPLETE: %s\n", interrupt_text());
  else
    output_finish(&state);
  int worst = EXIT_FINE;
  for (int i = 0; i < 4; i++) worst = status[i] > worst ? status[i] : worst;
  return interrupt_status(worst);
}

static int write_report(const report_options *set) {
  output file;
  if (!output_open("report", set->output, &file)) return EXIT_USAGE;
  interrupt_catch();
  int status = write_all(set, file.to);
  bool whole = !interrupted();
  bool written = output_close("report", &file, whole);
  if (written && whole) printf("%s written\n", set->output);
  return interrupt_status(written ? status : EXIT_FAILED);
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
  int missing = set.shapes.count == 0 ? 2 : 0;
  for (int i = 0; i < missing; i++) words_add(&set.shapes, standard[i], strlen(standard[i]));
  choose_devices(&set);
  return write_report(&set);
}
