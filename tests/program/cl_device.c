#include "program/cl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void test_cl_check(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL error %d\n", what, status);
  exit(EXIT_FAILURE);
}

static bool is_wanted(cl_platform_id platform) {
  char name[128] = "";
  const char *wanted = getenv("CONVOY_TEST_PLATFORM");
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
  return strstr(name, wanted ? wanted : "Portable") != NULL;
}

bool test_cl_open(test_cl *cl) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  cl_int status;
  memset(cl, 0, sizeof *cl);
  clGetPlatformIDs(16, platforms, &count);
  for (cl_uint i = 0; i < count && i < 16 && !cl->device; i++) {
    if (is_wanted(platforms[i]))
      clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &cl->device, NULL);
  }
  if (!cl->device) {
    fprintf(stderr, "no OpenCL device of the wanted platform among %u\n", count);
    return false;
  }
  clGetDeviceInfo(cl->device, CL_DEVICE_NAME, sizeof cl->name, cl->name, NULL);
  cl->context = clCreateContext(NULL, 1, &cl->device, NULL, NULL, &status);
  test_cl_check(status, "clCreateContext");
  cl->queue = clCreateCommandQueue(cl->context, cl->device, 0, &status);
  test_cl_check(status, "clCreateCommandQueue");
  return true;
}

void test_cl_close(test_cl *cl) {
  clReleaseCommandQueue(cl->queue);
  clReleaseContext(cl->context);
}

cl_program test_cl_build(const test_cl *cl, const char *const *sources, cl_uint count,
                         const char *options) {
  cl_int status;
  cl_program program =
      clCreateProgramWithSource(cl->context, count, (const char **)sources, NULL, &status);
  test_cl_check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program, 1, &cl->device, options, NULL, NULL);
  if (status != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, cl->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
  }
  test_cl_check(status, "clBuildProgram");
  return program;
}

cl_mem test_cl_buffer(const test_cl *cl, size_t bytes, const void *values) {
  cl_int status;
  cl_mem_flags flags = values ? CL_MEM_COPY_HOST_PTR : 0;
  cl_mem buffer = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | flags, bytes,
                                 (void *)(size_t)values, &status);
  test_cl_check(status, "clCreateBuffer");
  return buffer;
}
