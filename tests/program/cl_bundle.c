#include "program/cl_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/sources.h"

enum { SIZE = 1 << 24 };

static const char *const names[] = {"arguments", "program", "program_values", "reduce", "combine"};

void test_bundle_open(test_bundle *bundle) {
  memset(bundle, 0, sizeof *bundle);
  bundle->text = malloc(SIZE);
  if (!bundle->text) exit(EXIT_FAILURE);
  bundle->source = cvy_text_in(bundle->text, SIZE);
}

void test_bundle_begin(test_bundle *bundle, int number) {
  for (size_t i = 0; i < CVY_COUNT(names); i++) {
    cvy_text_add(&bundle->source, "#undef %s\n#define %s %s_%d\n", names[i], names[i], names[i],
                 number);
  }
}

void test_bundle_build(const test_cl *cl, test_bundle *bundle, const char *options) {
  const char *const sources[] = {
      cvy_cl_program_words,  cvy_cl_program_functions, cvy_cl_program_random,
      cvy_cl_program_arrays, cvy_cl_reduce_functions,  cvy_cl_program_reduce,
      bundle->text};
  if (bundle->source.overflow) {
    fprintf(stderr, "the source is too long\n");
    exit(EXIT_FAILURE);
  }
  bundle->program = test_cl_build(cl, sources, CVY_COUNT(sources), options);
}

cl_kernel test_bundle_kernel(const test_bundle *bundle, const char *name, int number) {
  char full[64];
  cl_int status;
  snprintf(full, sizeof full, "%s_%d", name, number);
  cl_kernel kernel = clCreateKernel(bundle->program, full, &status);
  test_cl_check(status, full);
  return kernel;
}

void test_bundle_close(test_bundle *bundle) {
  if (bundle->program) clReleaseProgram(bundle->program);
  free(bundle->text);
  memset(bundle, 0, sizeof *bundle);
}
