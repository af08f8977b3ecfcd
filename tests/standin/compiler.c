/* An OpenCL layer that hands out programs as images of the stand-ins, as NVIDIA's OpenCL hands out
 * PTX. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

typedef struct compiled {
  cl_program program;
  char *source, *image;
  size_t bytes;
  struct compiled *next;
} compiled;

static cl_icd_dispatch below;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static compiled *all;

/* A handle may come again: the newest counts. */
static compiled *find(cl_program program) {
  pthread_mutex_lock(&lock);
  compiled *at = all;
  while (at && at->program != program) at = at->next;
  pthread_mutex_unlock(&lock);
  return at;
}

static char *join(cl_uint count, const char **strings, const size_t *lengths) {
  size_t bytes = 1;
  for (cl_uint i = 0; i < count; i++)
    bytes += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
  char *text = calloc(1, bytes);
  for (cl_uint i = 0; text && i < count; i++)
    memcpy(text + strlen(text), strings[i],
           lengths && lengths[i] ? lengths[i] : strlen(strings[i]));
  return text;
}

static cl_program CL_API_CALL create(cl_context context, cl_uint count, const char **strings,
                                     const size_t *lengths, cl_int *error) {
  cl_program program = below.clCreateProgramWithSource(context, count, strings, lengths, error);
  compiled *new = program ? calloc(1, sizeof *new) : NULL;
  if (!new) return program;
  *new = (compiled){.program = program, .source = join(count, strings, lengths)};
  pthread_mutex_lock(&lock);
  new->next = all;
  all = new;
  pthread_mutex_unlock(&lock);
  return program;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                                void *user) {
  compiled *of = find(program);
  if (of && of->source && !of->image)
    of->image = image_write(options ? options : "", of->source, &of->bytes);
  return below.clBuildProgram(program, count, devices, options, done, user);
}

static cl_int CL_API_CALL info(cl_program program, cl_program_info what, size_t size, void *to,
                               size_t *needed) {
  const compiled *of = find(program);
  const bool known = of && of->image && to;
  if (known && what == CL_PROGRAM_BINARY_SIZES && size >= sizeof of->bytes) {
    memcpy(to, &of->bytes, sizeof of->bytes);
    return CL_SUCCESS;
  }
  if (known && what == CL_PROGRAM_BINARIES && size >= sizeof(unsigned char *)) {
    memcpy(*(unsigned char **)to, of->image, of->bytes);
    return CL_SUCCESS;
  }
  return below.clGetProgramInfo(program, what, size, to, needed);
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *needed) {
  static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION || (value && size < sizeof version)) return CL_INVALID_VALUE;
  if (value) memcpy(value, &version, sizeof version);
  if (needed) *needed = sizeof version;
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL clInitLayer(
    cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out, const cl_icd_dispatch **out) {
  static cl_icd_dispatch ours;
  const size_t bytes = count * sizeof(void *);
  memcpy(&below, target, bytes < sizeof below ? bytes : sizeof below);
  ours.clCreateProgramWithSource = create;
  ours.clBuildProgram = build;
  ours.clGetProgramInfo = info;
  *count_out = sizeof ours / sizeof(void *);
  *out = &ours;
  return CL_SUCCESS;
}
