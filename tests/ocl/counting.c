/* The fault layer counts calls of OpenCL where it makes none fail. Other layers stay. */
#include "counting.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

faults_control *test_counting_begin(void) {
  char path[] = "/tmp/convoy-counting-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) return NULL;
  close(fd);
  char layers[8192];
  const char *others = getenv("OPENCL_LAYERS");
  snprintf(layers, sizeof layers, "%s%s%s", TEST_LAYER, others ? ":" : "", others ? others : "");
  setenv("OPENCL_LAYERS", layers, 1);
  setenv("CONVOY_FAULT_FILE", path, 1);
  return faults_control_open(path);
}

void test_counting_end(faults_control *layer) {
  unlink(getenv("CONVOY_FAULT_FILE"));
  faults_control_close(layer);
}
