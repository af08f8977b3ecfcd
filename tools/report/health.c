/* `convoy health` shows the faults recorded of devices, and forgets them. */
#include "report/health.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/options.h"
#include "common/places.h"
#include "convoy/convoy.h"

static const usage about = {
    "health",
    "Shows the faults recorded of devices and what follows from them: where a device is used "
    "with\n"
    "conservative algorithms only, or not at all. A day without a new fault forgives; --clear "
    "does\n"
    "so at once, after the driver was replaced or the cable pushed home. Devices are recorded "
    "by\n"
    "name; an id, such as ocl:0, means the device that has it now.",
    "examples:\n  convoy health\n  convoy health --clear --device ocl:0\n"
    "  convoy health --clear --device gfx1010\n",
};

enum { TEXT_BYTES = 128 * 1024, PATH_BYTES = 4096 };

/* -------------------------------------------------------------------------------- the table */

/* What is recorded; NULL, and said why, if that cannot be read. To be freed. */
static char *read_table(const char *name) {
  char *text = malloc(TEXT_BYTES);
  if (text && convoy_fault_table(name, text, TEXT_BYTES) == CONVOY_OK) return text;
  fprintf(stderr, "convoy health: %s\n", text ? convoy_last_error() : "out of memory");
  free(text);
  return NULL;
}

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

static void print_none(FILE *out, const char *name) {
  if (name)
    fprintf(out, "no faults are recorded of devices called %s\n", name);
  else
    fputs("no faults are recorded\n", out);
}

static int clear(const char *name) {
  char *before = read_table(name);
  const int places = before ? count_lines(before) : 0;
  free(before);
  if (convoy_fault_table_clear(name) != CONVOY_OK) {
    fprintf(stderr, "convoy health: %s\n", convoy_last_error());
    return EXIT_FAILED;
  }
  if (places == 0) {
    print_none(stdout, name);
  } else {
    printf("forgotten: faults at %d %s of %s\n", places, places == 1 ? "place" : "places",
           name ? name : "all devices");
  }
  return EXIT_FINE;
}

/* ----------------------------------------------------------------------- reports of faults */

/* Finds the reports, oldest first, and their folder without the home's path. Returns false if there
 * are none. */
static bool find_reports(glob_t *found, char *folder, size_t size) {
  char state[PATH_BYTES - 32], pattern[PATH_BYTES];
  if (!places_state_folder(state, sizeof state)) return false;
  snprintf(pattern, sizeof pattern, "%s/reports/*.txt", state);
  if (glob(pattern, 0, NULL, found) != 0) return false;
  snprintf(pattern, sizeof pattern, "%s/reports", state);
  places_without_home(pattern, folder, size);
  return true;
}

static void print_folder(FILE *out) {
  glob_t found;
  char folder[PATH_BYTES];
  if (!find_reports(&found, folder, sizeof folder)) return;
  fprintf(out, "%d %s of single faults in %s\n", (int)found.gl_pathc,
          found.gl_pathc == 1 ? "report" : "reports", folder);
  globfree(&found);
}

void health_print_newest(FILE *out) {
  glob_t found;
  char folder[PATH_BYTES], line[1024], shown[1024];
  if (!find_reports(&found, folder, sizeof folder)) return;
  FILE *from = fopen(found.gl_pathv[found.gl_pathc - 1], "r");
  if (from) fputs("\nthe newest of them:\n\n", out);
  while (from && fgets(line, sizeof line, from))
    fputs(places_without_home(line, shown, sizeof shown), out);
  if (from) fclose(from);
  globfree(&found);
}

int health_print(FILE *out, const char *name) {
  char *text = read_table(name);
  if (!text) return EXIT_FAILED;
  if (text[0])
    fputs(text, out);
  else
    print_none(out, name);
  free(text);
  print_folder(out);
  return EXIT_FINE;
}

/* ------------------------------------------------------------------------------------ which */

/* What a device's id begins with says through what it is reached. */
static bool is_id(const char *text) {
  static const char *const kinds[] = {"ocl", "hip", "cuda"};
  const size_t length = strcspn(text, ":");
  bool found = false;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    found = found || (strlen(kinds[i]) == length && strncasecmp(text, kinds[i], length) == 0);
  return found;
}

static bool is_cpu_engine(const char *text) {
  return strcasecmp(text, "cpu") == 0 || strcasecmp(text, "cpu:0") == 0;
}

/* "ocl" is the first device of OpenCL, a GPU if there is one, as everywhere; "hip", "cuda"
 * likewise. */
static const convoy_device_info *find_id(const device_survey *found, const char *id) {
  const convoy_device_info *first = NULL;
  for (int32_t i = 0; i < found->count; i++) {
    const convoy_device_info *one = &found->item[i];
    if (strcasecmp(one->id, id) == 0) return one;
    if (strcspn(one->id, ":") != strlen(id) || strncasecmp(one->id, id, strlen(id)) != 0) continue;
    if (!first || (first->type != CONVOY_DEVICE_GPU && one->type == CONVOY_DEVICE_GPU)) first = one;
  }
  return first;
}

/* An id becomes the name of its device; anything else is part of a name. */
static int resolve(const char **name, device_survey *found) {
  if (!*name || !is_id(*name)) return EXIT_FINE;
  bool listed = devices_list_all(found) == CONVOY_OK;
  const convoy_device_info *one = listed ? find_id(found, *name) : NULL;
  if (one) {
    *name = one->name;
    return EXIT_FINE;
  }
  fprintf(stderr, "convoy health: there is no device %s%s%s; faults are recorded by name\n", *name,
          found->why[0] ? ": " : "", found->why);
  return EXIT_NO_DEVICE;
}

int health_main(int argc, char **argv) {
  static device_survey found;
  bool forget = false;
  const char *name = NULL;
  const option table[] = {
      {"--device", "NAME", OPTION_TEXT, &name,
       "only devices in whose name NAME occurs, or the one of id NAME"},
      {"--clear", NULL, OPTION_FLAG, &forget, "forget what is recorded of them"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  if (name && is_cpu_engine(name)) { /* whose name may be part of PoCL's */
    puts("no faults are recorded of the CPU engine");
    return EXIT_FINE;
  }
  status = resolve(&name, &found);
  if (status != EXIT_FINE) return status;
  return forget ? clear(name) : health_print(stdout, name);
}
