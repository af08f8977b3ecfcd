/* An OpenCL that computes nothing: it claims to be the device that isa_device names and writes
 * every program it is given, with its options and the kernels started, where the compilers for that
 * device find them. So what is compiled offline is what the engine would have compiled there. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/conv_args.h"
#include "isa.h"

enum { AMD = 0x1002, NVIDIA = 0x10de };

/* What their OpenCL says of these; ROCm counts RDNA's compute units in pairs. No program is
 * compiled for the last one: it is there because the model is tested on it (model.py). */
static const isa_device devices[] = {
    {"gfx1010", 18, 1560, 6, 65536, AMD},           {"gfx1030", 36, 2250, 16, 65536, AMD},
    {"gfx1100", 48, 2500, 24, 65536, AMD},          {"gfx906", 60, 1725, 16, 65536, AMD},
    {"NVIDIA H200", 132, 1980, 139, 49152, NVIDIA},
};

static const isa_device *device;
static const char *folder;
static FILE *launches;
static char label[256] = "";
static int programs;

bool isa_begin(const char *name, const char *into) {
  char path[4096];
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
    if (strcmp(devices[i].name, name) == 0) device = &devices[i];
  folder = into;
  snprintf(path, sizeof path, "%s/launches.tsv", into);
  launches = device ? fopen(path, "w") : NULL;
  return launches != NULL;
}

void isa_label(const char *text) {
  snprintf(label, sizeof label, "%s", text);
}

bool isa_end(void) {
  return fclose(launches) == 0;
}

/* -------------------------------------------------------------------------------- answers */

static cl_int answer(const void *from, size_t bytes, size_t size, void *to, size_t *needed) {
  if (needed) *needed = bytes;
  if (!to) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  memcpy(to, from, bytes);
  return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t size, void *to, size_t *needed) {
  return answer(text, strlen(text) + 1, size, to, needed);
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
  if (room && out) out[0] = (cl_platform_id)&devices;
  if (count) *count = 1;
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *to,
                         size_t *needed) {
  (void)platform;
  return answer_text(what == CL_PLATFORM_VERSION ? "OpenCL 2.1" : "offline", size, to, needed);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                      cl_uint *count) {
  (void)platform;
  (void)type;
  if (room && out) out[0] = (cl_device_id)(uintptr_t)device;
  if (count) *count = 1;
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size, void *to,
                       size_t *needed) {
  (void)id;
  cl_ulong memory = (cl_ulong)device->gigabytes << 30;
  const struct {
    cl_device_info what;
    cl_ulong value;
    size_t bytes;
  } numbers[] = {
      {CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU, sizeof(cl_device_type)},
      {CL_DEVICE_VENDOR_ID, (cl_ulong)device->vendor, sizeof(cl_uint)},
      {CL_DEVICE_MAX_COMPUTE_UNITS, (cl_ulong)device->units, sizeof(cl_uint)},
      {CL_DEVICE_MAX_CLOCK_FREQUENCY, (cl_ulong)device->megahertz, sizeof(cl_uint)},
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024, sizeof(cl_uint)},
      {CL_DEVICE_GLOBAL_MEM_SIZE, memory, sizeof(cl_ulong)},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, memory / 10 * 8, sizeof(cl_ulong)},
      {CL_DEVICE_LOCAL_MEM_SIZE, (cl_ulong)device->local_bytes, sizeof(cl_ulong)},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, device->vendor == AMD ? 256 : 1024, sizeof(size_t)},
      {CL_DEVICE_PLATFORM, (cl_ulong)(uintptr_t)&devices, sizeof(cl_platform_id)},
  };
  if (what == CL_DEVICE_NAME) return answer_text(device->name, size, to, needed);
  if (what == CL_DRIVER_VERSION) return answer_text("offline", size, to, needed);
  if (what == CL_DEVICE_EXTENSIONS)
    return answer_text(device->vendor == AMD ? "" : "cl_nv_compiler_options", size, to, needed);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (numbers[i].what == what)
      return answer(&numbers[i].value, numbers[i].bytes, size, to, needed);
  }
  return CL_INVALID_VALUE;
}

/* -------------------------------------------------------------------------------- programs */

struct _cl_program {
  int number;
  char *source;
};
struct _cl_kernel {
  int program;
  char name[64];
  long long slices, slice_length, items_per_result;
};

static char *join(cl_uint count, const char **parts) {
  size_t bytes = 1;
  for (cl_uint i = 0; i < count; i++) bytes += strlen(parts[i]);
  char *all = calloc(1, bytes);
  for (cl_uint i = 0; all && i < count; i++) strcat(all, parts[i]);
  return all;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **parts,
                                     const size_t *lengths, cl_int *code) {
  (void)context;
  (void)lengths;
  cl_program made = calloc(1, sizeof *made);
  if (made) made->source = join(count, parts);
  *code = made && made->source ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  return made;
}

static bool write_text(int number, const char *end, const char *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.%s", folder, number, end);
  FILE *file = fopen(path, "w");
  if (!file) return false;
  fputs(text, file);
  return fclose(file) == 0;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user) {
  (void)count;
  (void)ids;
  (void)notify;
  (void)user;
  program->number = programs++;
  bool written = write_text(program->number, "cl", program->source) &&
                 write_text(program->number, "options", options);
  return written ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code) {
  cl_kernel made = calloc(1, sizeof *made);
  *code = made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  if (!made) return NULL;
  made->program = program->number;
  snprintf(made->name, sizeof made->name, "%s", name);
  return made;
}

/* One field of an argument block of either width. */
static long long field(const void *block, size_t bytes, size_t place) {
  int32_t narrow;
  if (bytes == sizeof(conv_args)) return ((const int64_t *)block)[place / sizeof(conv_int)];
  memcpy(&narrow, (const char *)block + place / 2, sizeof narrow);
  return narrow;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
  if (index > 0 || (bytes != sizeof(conv_args) && bytes != sizeof(conv_args) / 2))
    return CL_SUCCESS; /* no argument block of a convolution's */
  kernel->slices = field(value, bytes, offsetof(conv_args, slices));
  kernel->slice_length = field(value, bytes, offsetof(conv_args, slice_length));
  kernel->items_per_result = field(value, bytes, offsetof(conv_args, items_per_result));
  return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint waits, const cl_event *events, cl_event *done) {
  (void)queue;
  (void)dims;
  (void)offset;
  (void)waits;
  (void)events;
  fprintf(launches, "%s\t%d\t%s\t%zu\t%zu\t%lld\t%lld\t%lld\n", label, kernel->program,
          kernel->name, global[0] / local[0], local[0], kernel->slices, kernel->slice_length,
          kernel->items_per_result);
  if (done) *done = (cl_event)&devices;
  return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program) {
  free(program->source);
  free(program);
  return CL_SUCCESS;
}

cl_int clReleaseKernel(cl_kernel kernel) {
  free(kernel);
  return CL_SUCCESS;
}

/* There are no binaries: nothing comes from a cache, nothing goes into one. */
cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *ids,
                                     const size_t *bytes, const unsigned char **binaries,
                                     cl_int *states, cl_int *code) {
  (void)context;
  (void)count;
  (void)ids;
  (void)bytes;
  (void)binaries;
  (void)states;
  *code = CL_INVALID_BINARY;
  return NULL;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void *to,
                        size_t *needed) {
  (void)program;
  (void)what;
  (void)size;
  (void)to;
  (void)needed;
  return CL_INVALID_VALUE;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id id, cl_program_build_info what,
                             size_t size, void *to, size_t *needed) {
  (void)program;
  (void)id;
  (void)what;
  return answer_text("", size, to, needed);
}
