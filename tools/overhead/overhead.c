/* Reads the options of `convoy overhead`, opens the two sides, and writes the report. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/machine.h"
#include "common/options.h"
#include "common/shapes.h"
#include "overhead/calls.h"
#include "overhead/step.h"

typedef struct settings {
  words tables;
  const char *device;
  int samples, host_samples;
} settings;

static const char *const side_names[SIDES] = {"process", "none"};

/* The CPU engine has no driver, and so it has but one side. */
static int check_device(const char *name) {
  convoy_device_info info;
  convoy_status status = device_probe(name, &info);
  if (status != CONVOY_OK) {
    fprintf(stderr, "convoy overhead: %s\n", convoy_last_error());
    return status == CONVOY_ERR_NOT_FOUND ? EXIT_NO_DEVICE : EXIT_FAILED;
  }
  if (info.type != CONVOY_DEVICE_CPU_ENGINE) return EXIT_FINE;
  fputs(
      "convoy overhead: the device is the CPU engine, which has no driver to isolate; name one "
      "of OpenCL with --device\n",
      stderr);
  return name ? EXIT_USAGE : EXIT_NO_DEVICE;
}

static convoy_status open_sides(const char *name, sides *out) {
  static const int32_t isolation[SIDES] = {CONVOY_ISOLATION_PROCESS, CONVOY_ISOLATION_NONE};
  *out = (sides){0};
  for (int side = 0; side < SIDES; side++) {
    convoy_options options = CONVOY_OPTIONS_INIT;
    options.device = name;
    options.isolation = isolation[side];
    options.failover = CONVOY_NO;
    convoy_status status = convoy_open(&options, &out->context[side]);
    if (status != CONVOY_OK) return status;
  }
  return CONVOY_OK;
}

static void close_sides(sides *on) {
  for (int side = 0; side < SIDES; side++) convoy_close(on->context[side]);
}

static convoy_status print_head(const sides *on) {
  convoy_device_info info = {.struct_size = sizeof info};
  convoy_status status = convoy_context_device(on->context[SIDE_PROCESS], &info);
  machine here = machine_here();
  if (status != CONVOY_OK) return status;
  printf("convoy %s\n%s  %s, %s\n%s, %d cores\n", convoy_version(), info.id, info.name, info.driver,
         here.cpu, here.cores);
  fflush(stdout);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------ report */

static void print_paired(const char *table, const char *what, const paired *times) {
  printf("%-18s %-9s", table, what);
  for (int side = 0; side < SIDES; side++)
    printf("  %s %9.3f ms", side_names[side], 1e3 * times->side[side].median);
  printf("  process/none %.4f (%.4f .. %.4f, %d pairs)", times->ratio.median, times->ratio.min,
         times->ratio.max, times->ratio.count);
}

static convoy_status report_table(const sides *on, const layer_table *table, const settings *set) {
  overhead_step step;
  paired resident, host;
  double verified;
  convoy_status status = overhead_step_make(on, table, &step);
  if (status != CONVOY_OK) return status;
  status = overhead_resident(&step, set->samples, &resident);
  if (status == CONVOY_OK) {
    print_paired(table->name, "resident", &resident);
    printf("\n");
    status = overhead_host(&step, set->host_samples, &host, &verified);
  }
  if (status == CONVOY_OK) {
    print_paired(table->name, "host", &host);
    printf("  verification %.2f %%\n", 1e2 * verified);
  }
  overhead_step_free(&step);
  fflush(stdout);
  return interrupt_check(status);
}

static convoy_status report_calls(const sides *on) {
  overhead_calls calls[SIDES];
  convoy_status status = overhead_measure_calls(on, calls);
  if (status != CONVOY_OK) return status;
  for (int side = 0; side < SIDES; side++) {
    printf("calls, %-8s enqueue %.2f us, wait for what is done %.2f us, enqueue and wait %.2f us\n",
           side_names[side], 1e6 * calls[side].enqueue, 1e6 * calls[side].wait,
           1e6 * calls[side].once);
  }
  return CONVOY_OK;
}

static convoy_status report_transfers(const sides *on) {
  overhead_transfers transfers;
  convoy_status status = overhead_measure_transfers(on, &transfers);
  if (status != CONVOY_OK) return status;
  printf(
      "calls on ordinary memory: in %.2f GB/s, out %.2f GB/s; memory of convoy_host_alloc: in by a "
      "call %.2f GB/s, out by convoy_tensor_read %.2f GB/s\n",
      1e-9 * transfers.up, 1e-9 * transfers.down, 1e-9 * transfers.up_shared,
      1e-9 * transfers.down_shared);
  return CONVOY_OK;
}

static convoy_status report(const sides *on, const layer_table *tables, const settings *set) {
  convoy_status status = print_head(on);
  if (status == CONVOY_OK) status = report_calls(on);
  if (status == CONVOY_OK) status = report_transfers(on);
  for (int i = 0; i < set->tables.count && status == CONVOY_OK; i++)
    status = report_table(on, &tables[i], set);
  return status;
}

/* --------------------------------------------------------------------------- beginning */

static int work(const settings *set, const layer_table *tables) {
  sides on;
  interrupt_catch();
  int checked = check_device(set->device);
  if (checked != EXIT_FINE) return checked;
  convoy_status status = open_sides(set->device, &on);
  int exit_status = status == CONVOY_ERR_NOT_FOUND ? EXIT_NO_DEVICE : EXIT_FAILED;
  if (status == CONVOY_OK) status = report(&on, tables, set);
  if (interrupted())
    printf("overhead INCOMPLETE: %s\n", interrupt_text());
  else if (status != CONVOY_OK)
    fprintf(stderr, "convoy overhead: %s: %s\n", convoy_status_name(status), convoy_last_error());
  close_sides(&on);
  return interrupt_status(status == CONVOY_OK ? EXIT_FINE : exit_status);
}

static int read_and_work(const settings *set) {
  static const words none;
  shapes read;
  int status = shapes_open("overhead", &set->tables, &none, &none, &read);
  if (status == EXIT_FINE) status = work(set, read.tables);
  shapes_close(&read);
  return status;
}

static const usage about = {
    "overhead",
    "What the safety net costs on a device: training steps of shape tables (forward, backward_data "
    "and\n"
    "backward_weights of every layer, each as often as the table counts it) with the driver in a\n"
    "process of its own and with the driver in this one, turn about: `resident` on tensors with "
    "one\n"
    "wait per step, `host` from ordinary memory and back, call by call.",
    "examples:\n  convoy overhead --device ocl:0 --shapes yolov8n_b4 --samples 20\n",
};

int overhead_main(int argc, char **argv) {
  settings set = {.device = NULL, .samples = 21, .host_samples = 5};
  const option table[] = {
      {"--shapes", "FILE...", OPTION_FILES, &set.tables, "shape tables (yolov8n_rx5600xt)"},
      {"--device", "NAME", OPTION_TEXT, &set.device, "as CONVOY_DEVICE; one device"},
      {"--samples", "N", OPTION_COUNT, &set.samples, "pairs of resident steps (21)"},
      {"--host-samples", "N", OPTION_COUNT, &set.host_samples, "pairs of host steps (5)"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  if (set.samples > OVERHEAD_SAMPLES_MOST || set.host_samples > OVERHEAD_SAMPLES_MOST) {
    fprintf(stderr, "convoy overhead: at most %d samples\n", OVERHEAD_SAMPLES_MOST);
    return EXIT_USAGE;
  }
  if (set.tables.count == 0) words_add(&set.tables, "yolov8n_rx5600xt", 16);
  return read_and_work(&set);
}
