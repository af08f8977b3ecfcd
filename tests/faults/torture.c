#include "faults/torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device.h"

static bool use_settings(const char *device, char *folder) {
  static const char *const settings[][2] = {
      {"CONVOY_FAULT_LIMIT", "0"},
      {"CONVOY_TUNE", "0"},
      {"CONVOY_LOG", "off"},
      {"CONVOY_THREADS", "1"},
  };
  char path[4200];
  if (!mkdtemp(folder)) return false;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    setenv(settings[i][0], settings[i][1], 1);
  if (strcmp(device, TORTURE_POCL) == 0)
    setenv("OPENCL_LAYERS", TEST_LAYER, 1);
  else
    setenv("STANDIN_FAULTS", "1", 1);
  setenv("CONVOY_STATE_DIR", folder, 1);
  /* What PoCL has compiled is kept where the caller wants it: compiling takes most of a minute. */
  const char *kept = getenv("CONVOY_CACHE_DIR");
  snprintf(path, sizeof path, "%s/pocl", kept ? kept : folder);
  setenv("POCL_CACHE_DIR", path, 1);
  snprintf(path, sizeof path, "%s/faults", folder);
  setenv("CONVOY_FAULT_FILE", path, 1);
  return true;
}

static void remove_folder(const char *folder) {
  char command[160];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) printf("%s is left behind\n", folder);
}

int torture_run(const char *wanted,
                int (*run)(void *user, const char *device, faults_control *control), void *user) {
  char folder[] = "/tmp/convoy-torture-XXXXXX", device[16];
  if (!use_settings(wanted, folder)) {
    perror(folder);
    return 2;
  }
  int status = test_find(wanted, device, sizeof device);
  if (!status) {
    faults_control *control = faults_control_open(getenv("CONVOY_FAULT_FILE"));
    status = run(user, device, control);
    faults_control_close(control);
  }
  remove_folder(folder);
  return status;
}

uint64_t torture_launches(const faults_control *control) {
  return faults_control_calls(control, "clEnqueueNDRangeKernel") +
         faults_control_calls(control, "gpu_launch");
}

void torture_set_patience(bool patient) {
  setenv("CONVOY_DEVICE_WAIT_BUDGET", patient ? "240" : TORTURE_BUDGET, 1);
  setenv("CONVOY_DEADLINE",
         patient ? "start=30,probe=30,compile=60,transfer=30,run=60"
                 : "start=0.5,probe=0.5,compile=0.5,transfer=0.2,run=0.2,restarts=1000000",
         1);
}

bool torture_lists(const char *list, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return true;
  return false;
}
