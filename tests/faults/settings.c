#include "faults/settings.h"

#include <stdio.h>
#include <stdlib.h>

bool faults_use_settings(char *folder) {
  static const char *const settings[][2] = {
      {"CONVOY_FAULT_LIMIT", "0"}, {"CONVOY_TUNE", "0"},          {"CONVOY_LOG", "off"},
      {"CONVOY_THREADS", "1"},     {"OPENCL_LAYERS", TEST_LAYER},
  };
  char path[4200];
  if (!mkdtemp(folder)) return false;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    setenv(settings[i][0], settings[i][1], 1);
  setenv("CONVOY_STATE_DIR", folder, 1);
  /* What PoCL has compiled is kept where the caller wants it: compiling takes most of a minute. */
  const char *kept = getenv("CONVOY_CACHE_DIR");
  snprintf(path, sizeof path, "%s/pocl", kept ? kept : folder);
  setenv("POCL_CACHE_DIR", path, 1);
  snprintf(path, sizeof path, "%s/faults", folder);
  setenv("CONVOY_FAULT_FILE", path, 1);
  return true;
}

void faults_remove_folder(const char *folder) {
  char command[160];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) printf("%s is left behind\n", folder);
}

void faults_set_patience(bool patient) {
  setenv("CONVOY_DEVICE_WAIT_BUDGET", patient ? "240" : FAULTS_BUDGET, 1);
  setenv("CONVOY_DEADLINE",
         patient ? "start=30,probe=30,compile=60,transfer=30,run=60"
                 : "start=0.5,probe=0.5,compile=0.5,transfer=0.2,run=0.2,restarts=1000000",
         1);
}
