/* Programs: from source, from a binary and into one. */
#include "ocl/engine/opencl/programs.h"

#include "ocl/engine/opencl/queue.h"

#include <stdlib.h>
#include <string.h>

/* Cuts a log to its first three lines, on one line. */
static void shorten(char *log) {
  int lines = 0;
  for (char *c = log; *c; c++) {
    if (*c == '\n') lines++;
    if (lines == 3) *c = 0;
    if (*c == '\n' || *c == '\r') *c = ' ';
    if (!*c) return;
  }
}

static convoy_status fail_build(cl_device_id device, const program_source *source,
                                const char *options, cl_program program, cl_int code) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = calloc(1, size + 1);
  if (log) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  cvy_log(CONVOY_LOG_DEBUG, "building %s (%s):\n%s", source->name, options, log ? log : "");
  if (log) shorten(log);
  convoy_status status =
      cvy_fail(CONVOY_ERR_DEVICE, "%s does not compile with '%s': %s (%d): %.300s", source->name,
               options, opencl_error_name(code), (int)code, log && *log ? log : "no log");
  free(log);
  return status;
}

static cl_uint count_parts(const program_source *source) {
  cl_uint count = 0;
  while (source->parts[count]) count++;
  return count;
}

convoy_status opencl_compile(runtime_queue *queue, const program_source *source,
                             const char *options, runtime_program **out) {
  cl_int code;
  cl_program program = clCreateProgramWithSource(queue->context, count_parts(source),
                                                 (const char **)source->parts, NULL, &code);
  if (!program) return opencl_fail(code, "cannot create a program");
  code = clBuildProgram(program, 1, &queue->device, options, NULL, NULL);
  if (code != CL_SUCCESS) {
    convoy_status status = fail_build(queue->device, source, options, program, code);
    clReleaseProgram(program);
    return status;
  }
  *out = (runtime_program *)program;
  return CONVOY_OK;
}

int32_t opencl_load(runtime_queue *queue, const char *options, const void *binary, size_t bytes,
                    runtime_program **out) {
  cl_int state = CL_SUCCESS, code;
  const unsigned char *binaries[] = {binary};
  cl_program program =
      clCreateProgramWithBinary(queue->context, 1, &queue->device, &bytes, binaries, &state, &code);
  if (code == CL_SUCCESS) code = state;
  if (program && code == CL_SUCCESS)
    code = clBuildProgram(program, 1, &queue->device, options, NULL, NULL);
  if (code == CL_SUCCESS)
    *out = (runtime_program *)program;
  else if (program)
    clReleaseProgram(program);
  return code;
}

void *opencl_save(const runtime_program *saved, size_t *bytes) {
  const cl_program program = (cl_program)(uintptr_t)saved;
  *bytes = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *bytes, bytes, NULL) != CL_SUCCESS)
    return NULL;
  unsigned char *binary = *bytes ? malloc(*bytes) : NULL;
  if (!binary) return NULL;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
    return binary;
  free(binary);
  return NULL;
}

void opencl_program_release(runtime_queue *queue, runtime_program *program) {
  (void)queue;
  clReleaseProgram((cl_program)program);
}

runtime_kernel *opencl_kernel(runtime_program *program, const char *name, int32_t *code) {
  return (runtime_kernel *)clCreateKernel((cl_program)program, name, code);
}

void opencl_kernel_release(runtime_kernel *kernel) {
  clReleaseKernel((cl_kernel)kernel);
}

int32_t opencl_argument(runtime_kernel *kernel, int32_t index, size_t bytes, const void *value) {
  return clSetKernelArg((cl_kernel)kernel, (cl_uint)index, bytes, value);
}
