/* Many generated kernels compiled as one program, since a compiler takes longer to start than to
 * compile one of them. */
#ifndef TEST_PROGRAM_CL_BUNDLE_H
#define TEST_PROGRAM_CL_BUNDLE_H

#include "base/base.h"
#include "program/cl_device.h"

typedef struct test_bundle {
  char *text;
  cvy_text source;
  cl_program program;
} test_bundle;

void test_bundle_open(test_bundle *bundle);
/* Gives the names of one source of its own: what is written into `source` behind this is number
 * `number`. */
void test_bundle_begin(test_bundle *bundle, int number);
void test_bundle_build(const test_cl *cl, test_bundle *bundle, const char *options);
cl_kernel test_bundle_kernel(const test_bundle *bundle, const char *name, int number);
void test_bundle_close(test_bundle *bundle);

#endif
