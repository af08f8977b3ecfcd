/* `convoy info` says what is there, and why something is not. */
#include "report/info.h"

#include "commands.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/machine.h"
#include "common/options.h"
#include "common/places.h"
#include "convoy/convoy.h"
#include "report/traps.h"

static const usage about = {
    "info",
    "Shows version, machine, what was built in, the devices with their drivers, and known "
    "traps\n"
    "that keep a GPU from being seen. Drivers are asked in a process of their own and only for "
    "so\n"
    "long; no device file is opened by this one.",
    "example:\n  convoy info\n",
};

static double mebibytes(int64_t bytes) {
  return (double)bytes / (1024.0 * 1024.0);
}

static void print_device(FILE *out, const convoy_device_info *one) {
  fprintf(out, "  %-6s %s\n", one->id, one->name);
  fprintf(out, "         %s%s, %d %s, %d MHz, memory %.0f MiB, one allocation %.0f MiB\n",
          device_type_name(one->type), one->simulator ? ", simulator" : "", (int)one->compute_units,
          one->type == CONVOY_DEVICE_CPU_ENGINE ? "threads" : "compute units", (int)one->clock_mhz,
          mebibytes(one->memory_bytes), mebibytes(one->max_allocation_bytes));
  fprintf(out, "         platform: %s\n         driver:   %s\n", one->platform, one->driver);
}

static int print_devices(FILE *out) {
  device_survey found;
  fprintf(out, "\ndevices\n");
  if (devices_list_all(&found) != CONVOY_OK) {
    fprintf(out, "  %s\n", convoy_last_error());
    return EXIT_FAILED;
  }
  for (int32_t i = 0; i < found.count; i++) print_device(out, &found.item[i]);
  char why[sizeof found.why];
  if (found.why[0])
    fprintf(out, "  no other device: %s\n", places_without_home(found.why, why, sizeof why));
  return EXIT_FINE;
}

static void print_machine(FILE *out) {
  machine here = machine_here();
  fprintf(out, "convoy %s\n\nmachine\n  %s\n  %s, %d cores, %.0f MiB\n", convoy_version(),
          here.system, here.cpu, here.cores, mebibytes(here.memory_bytes));
}

/* Writes the library's lines, indented. */
static void print_build(FILE *out) {
  fprintf(out, "\nbuilt in\n  ");
  for (const char *at = convoy_build_info(); *at; at++) {
    fputc(*at, out);
    if (*at == '\n' && at[1]) fputs("  ", out);
  }
}

int info_print(FILE *out) {
  print_machine(out);
  print_build(out);
  int status = print_devices(out);
  fprintf(out, "\ntraps\n");
  if (traps_print(out) == 0) fprintf(out, "  none known of here\n");
  return status;
}

int info_main(int argc, char **argv) {
  const option table[] = {{NULL, NULL, OPTION_FLAG, NULL, NULL}};
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  return info_print(stdout);
}
