/* An OpenCL device for tests that compile sources of their own. */
#ifndef TEST_PROGRAM_CL_DEVICE_H
#define TEST_PROGRAM_CL_DEVICE_H

#include <stdbool.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct test_cl {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  char name[128];
} test_cl;

/* The first device of the platform whose name has CONVOY_TEST_PLATFORM in it, else of PoCL. False
 * with a line on stderr if there is none. */
bool test_cl_open(test_cl *cl);
void test_cl_close(test_cl *cl);

/* Ends the test with the compiler's log if it does not compile. */
cl_program test_cl_build(const test_cl *cl, const char *const *sources, cl_uint count,
                         const char *options);

cl_mem test_cl_buffer(const test_cl *cl, size_t bytes, const void *values);

/* Ends the test if an OpenCL function failed. */
void test_cl_check(cl_int status, const char *what);

#endif
