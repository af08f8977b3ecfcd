/* `convoy health`: the faults recorded of devices, and forgetting them. */
#include <stdlib.h>

#include "convoy/convoy.h"
#include "options.h"
#include "tool.h"

static const usage about = {
    "health",
    "Shows the faults recorded of devices and what follows from them: where a device is used with\n"
    "conservative algorithms only, or not at all. A day without a new fault forgives; --clear "
    "does\n"
    "so at once, after the driver was replaced or the cable pushed home.",
    "examples:\n  convoy health\n  convoy health --clear --device \"RX 5600\"\n",
};

enum { TEXT_BYTES = 128 * 1024 };

static int show(const char *device) {
  char *text = malloc(TEXT_BYTES);
  if (!text) return EXIT_FAILED;
  const convoy_status status = convoy_record(device, text, TEXT_BYTES);
  if (status == CONVOY_OK) fputs(text[0] ? text : "no faults are recorded\n", stdout);
  free(text);
  return status == CONVOY_OK ? EXIT_FINE : EXIT_FAILED;
}

static int clear(const char *device) {
  if (convoy_record_clear(device) == CONVOY_OK) return EXIT_FINE;
  fprintf(stderr, "convoy: %s\n", convoy_last_error());
  return EXIT_FAILED;
}

int health_main(int argc, char **argv) {
  bool forget = false;
  const char *device = NULL;
  const option table[] = {
      {"--device", "NAME", OPTION_TEXT, &device, "only devices in whose name NAME occurs"},
      {"--clear", NULL, OPTION_FLAG, &forget, "forget what is recorded of them"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  return forget ? clear(device) : show(device);
}
