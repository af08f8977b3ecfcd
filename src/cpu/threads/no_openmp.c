/* In place of openmp.c in builds without OpenMP. */
#include "cpu/threads/openmp.h"

cvy_team *cvy_openmp_team(bool yields) {
  (void)yields;
  return NULL;
}

int32_t cvy_openmp_threads(void) {
  return INT32_MAX;
}

const char *cvy_openmp_library(void) {
  return NULL;
}
