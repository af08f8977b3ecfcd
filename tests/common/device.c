/* See device.h. */
#include "common/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POCL_PLATFORM "Portable Computing Language"
#define MOST_DEVICES 32

static int find_pocl(char *id, size_t size) {
  convoy_device_info devices[MOST_DEVICES] = {{.struct_size = sizeof(convoy_device_info)}};
  int32_t count = 0;
  char why[256] = "";
  if (convoy_devices(NULL, devices, MOST_DEVICES, &count, why, sizeof why) != CONVOY_OK) {
    fprintf(stderr, "cannot list devices: %s\n", convoy_last_error());
    return EXIT_FAILURE;
  }
  for (int32_t i = 0; i < count && i < MOST_DEVICES; i++)
    if (strstr(devices[i].platform, POCL_PLATFORM) != NULL && !devices[i].simulator) {
      snprintf(id, size, "%s", devices[i].id);
      return 0;
    }
  if (why[0] != '\0') {
    fprintf(stderr, "devices of OpenCL are missing: %s\n", why);
    return EXIT_FAILURE;
  }
  fprintf(stderr, "skipped: no OpenCL device of platform \"" POCL_PLATFORM "\"\n");
  return TEST_SKIPPED;
}

static const char *wanted_or_default(const char *wanted) {
  const char *set = getenv("TEST_DEVICE");
  if (wanted != NULL) return wanted;
  return set != NULL && set[0] != '\0' ? set : "cpu";
}

int test_open(const char *wanted, convoy_context **context, convoy_device_info *info) {
  char id[sizeof info->id];
  setenv("CONVOY_LIBEXEC", TEST_LIBEXEC, 0); /* for a test started by hand */
  wanted = wanted_or_default(wanted);
  if (strcmp(wanted, "pocl") == 0) {
    const int status = find_pocl(id, sizeof id);
    if (status != 0) return status;
    wanted = id;
  }
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = wanted;
  options.failover = CONVOY_NO;
  *info = (convoy_device_info){.struct_size = sizeof *info};
  if (convoy_open(&options, context) != CONVOY_OK ||
      convoy_context_device(*context, info) != CONVOY_OK) {
    fprintf(stderr, "cannot open device '%s': %s\n", wanted, convoy_last_error());
    return EXIT_FAILURE;
  }
  return 0;
}

int test_find(const char *wanted, char *id, size_t size) {
  convoy_context *context;
  convoy_device_info info;
  const int status = test_open(wanted, &context, &info);
  if (status != 0) return status;
  convoy_close(context);
  snprintf(id, size, "%s", info.id);
  return 0;
}
