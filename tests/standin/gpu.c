/* The stood-in GPU. Memory is host memory with a buffer over it, so that its address is a pointer
 * that can be computed with, and the buffer is found again by it. A failure that is only seen
 * afterwards stays: CUDA and HIP carry out nothing more in such a process. */
#include "gpu.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

enum { MEMORIES = 4096, PLATFORMS = 16, PAGE = 4096, ARGUMENTS = 32 };

typedef struct memory {
  char *at;
  size_t bytes;
  cl_mem buffer;
} memory;

typedef struct function {
  cl_kernel kernel;
  cl_uint arguments;
  size_t block; /* bytes of the first one */
} function;

static cl_device_id device;
static cl_context context;
static memory memories[MEMORIES];
static int memory_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int broken;
static _Thread_local int entered;

static const struct {
  int code;
  const char *name;
} names[] = {
    {GPU_INVALID_VALUE, "INVALID_VALUE"}, {GPU_NO_MEMORY, "OUT_OF_MEMORY"},
    {GPU_NO_DEVICE, "NO_DEVICE"},         {GPU_INVALID_DEVICE, "INVALID_DEVICE"},
    {GPU_INVALID_IMAGE, "INVALID_IMAGE"}, {GPU_INVALID_HANDLE, "INVALID_HANDLE"},
    {GPU_NOT_FOUND, "NOT_FOUND"},         {GPU_NOT_READY, "NOT_READY"},
    {GPU_LAUNCH_FAILED, "LAUNCH_FAILED"}, {GPU_NOT_INITIALIZED, "NOT_INITIALIZED"},
};

const char *gpu_error_name(int code) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].code == code) return names[i].name;
  return NULL;
}

/* ------------------------------------------------------------------------------------- codes */

static int code_of(cl_int code) {
  switch (code) {
    case CL_SUCCESS:
      return GPU_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return GPU_NO_MEMORY;
    case CL_INVALID_VALUE:
    case CL_INVALID_WORK_GROUP_SIZE:
      return GPU_INVALID_VALUE;
    default:
      return GPU_LAUNCH_FAILED;
  }
}

/* What a thread may not do, or nobody any more. */
static int refused(void) {
  const int lasting = atomic_load(&broken);
  return lasting ? lasting : entered ? GPU_OK : GPU_NOT_INITIALIZED;
}

static int lasting(int code) {
  if (code) atomic_store(&broken, code);
  return code;
}

void gpu_enter(void) {
  entered = 1;
}

/* ------------------------------------------------------------------------------------ device */

static cl_device_id find_device(void) {
  cl_platform_id platforms[PLATFORMS];
  cl_uint count = 0;
  char name[128];
  cl_device_id found = NULL;
  if (clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_SUCCESS) return NULL;
  for (cl_uint i = 0; i < count && i < PLATFORMS && !found; i++) {
    if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
        strcmp(name, "Portable Computing Language") == 0)
      clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &found, NULL);
  }
  return found;
}

static int started;

/* STANDIN_STATUS is what a driver without devices says. */
static void start(void) {
  const char *status = getenv("STANDIN_STATUS");
  cl_int code;
  if (status) {
    started = atoi(status);
    return;
  }
  started = GPU_NO_DEVICE;
  device = find_device();
  if (!device) return;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  started = code_of(code);
}

int gpu_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  return started;
}

/* STANDIN_NAME makes it another card than OpenCL's. */
int gpu_name(char *to, int size) {
  const char *other = getenv("STANDIN_NAME");
  char name[1024] = "";
  cl_int code = clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  const char *from = other ? other : name;
  while (*from == ' ') from++;
  snprintf(to, (size_t)size, "%s", from);
  return code_of(code);
}

static size_t number(cl_device_info what, size_t bytes) {
  unsigned char room[8] = {0};
  cl_ulong value = 0;
  if (clGetDeviceInfo(device, what, bytes, room, NULL) != CL_SUCCESS) return 0;
  memcpy(&value, room, sizeof value); /* little endian */
  return value;
}

int gpu_memory_bytes(size_t *out) {
  *out = number(CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
  return GPU_OK;
}

int gpu_units(void) {
  return (int)number(CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
}

int gpu_clock(void) {
  return (int)number(CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint)) * 1000;
}

int gpu_local_bytes(void) {
  return (int)number(CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
}

int gpu_group_items(void) {
  return (int)number(CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
}

/* ------------------------------------------------------------------------------------ stream */

int gpu_stream(void **out) {
  cl_int code;
  if (refused()) return refused();
  *out = clCreateCommandQueue(context, device, 0, &code);
  return code_of(code);
}

int gpu_stream_release(void *stream) {
  clReleaseCommandQueue(stream);
  return refused();
}

int gpu_stream_wait(void *stream) {
  return refused() ? refused() : lasting(code_of(clFinish(stream)));
}

/* ------------------------------------------------------------------------------------ memory */

static int find_memory(const void *at, size_t bytes, memory *out) {
  int found = GPU_INVALID_VALUE;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < memory_count && found; i++) {
    const size_t from = (size_t)((const char *)at - memories[i].at);
    if ((const char *)at < memories[i].at || from >= memories[i].bytes ||
        bytes > memories[i].bytes - from)
      continue;
    *out = memories[i];
    found = GPU_OK;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

int gpu_memory(void **out, size_t bytes) {
  memory new = {.bytes = bytes};
  cl_int code;
  if (refused()) return refused();
  if (bytes == 0) return GPU_INVALID_VALUE;
  new.at = bytes < SIZE_MAX - PAGE ? aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE) : NULL;
  if (!new.at) return GPU_NO_MEMORY;
  new.buffer =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, new.at, &code);
  pthread_mutex_lock(&lock);
  const int room = memory_count < MEMORIES;
  if (new.buffer && room) memories[memory_count++] = new;
  pthread_mutex_unlock(&lock);
  if (new.buffer && room) {
    *out = new.at;
    return GPU_OK;
  }
  if (new.buffer) clReleaseMemObject(new.buffer);
  free(new.at);
  return new.buffer ? GPU_NO_MEMORY : code_of(code);
}

int gpu_memory_release(void *at) {
  memory gone = {0};
  pthread_mutex_lock(&lock);
  for (int i = 0; i < memory_count; i++) {
    if (memories[i].at != at) continue;
    gone = memories[i];
    memories[i] = memories[--memory_count];
    break;
  }
  pthread_mutex_unlock(&lock);
  if (!gone.buffer) return GPU_INVALID_VALUE;
  clReleaseMemObject(gone.buffer);
  free(gone.at);
  return refused();
}

/* The processor's memory is good as it is. */
int gpu_pin(void *at, size_t bytes) {
  return refused() ? refused() : at && bytes ? GPU_OK : GPU_INVALID_VALUE;
}

int gpu_unpin(void *at) {
  return at ? GPU_OK : GPU_INVALID_VALUE;
}

/* ---------------------------------------------------------------------------------- commands */

static int find(const void *at, size_t bytes, memory *out, size_t *from) {
  int code = refused();
  if (!code) code = find_memory(at, bytes, out);
  if (!code) *from = (size_t)((const char *)at - out->at);
  return code;
}

int gpu_write(void *to, const void *from, size_t bytes, void *stream) {
  memory in;
  size_t at;
  const int code = find(to, bytes, &in, &at);
  if (code) return code;
  return code_of(clEnqueueWriteBuffer(stream, in.buffer, CL_FALSE, at, bytes, from, 0, NULL, NULL));
}

int gpu_read(void *to, const void *from, size_t bytes, void *stream) {
  memory in;
  size_t at;
  const int code = find(from, bytes, &in, &at);
  if (code) return code;
  return code_of(clEnqueueReadBuffer(stream, in.buffer, CL_FALSE, at, bytes, to, 0, NULL, NULL));
}

int gpu_copy(void *to, const void *from, size_t bytes, void *stream) {
  memory source, target;
  size_t source_at, target_at;
  int code = find(from, bytes, &source, &source_at);
  if (!code) code = find(to, bytes, &target, &target_at);
  if (code) return code;
  return code_of(clEnqueueCopyBuffer(stream, source.buffer, target.buffer, source_at, target_at,
                                     bytes, 0, NULL, NULL));
}

int gpu_fill(void *to, unsigned char value, size_t bytes, void *stream) {
  memory in;
  size_t at;
  const int code = find(to, bytes, &in, &at);
  if (code) return code;
  return code_of(
      clEnqueueFillBuffer(stream, in.buffer, &value, sizeof value, at, bytes, 0, NULL, NULL));
}

/* ------------------------------------------------------------------------------------ events */

int gpu_event(void **out) {
  cl_event *event = refused() ? NULL : calloc(1, sizeof *event);
  *out = event;
  return event ? GPU_OK : refused() ? refused() : GPU_NO_MEMORY;
}

int gpu_event_record(void *event, void *stream) {
  cl_event *at = event;
  if (refused()) return refused();
  if (*at) clReleaseEvent(*at);
  *at = NULL;
  return code_of(clEnqueueMarkerWithWaitList(stream, 0, NULL, at));
}

int gpu_event_query(void *event) {
  const cl_event *at = event;
  cl_int state = CL_COMPLETE;
  if (refused() || !*at) return refused();
  cl_int code = clGetEventInfo(*at, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  if (code == CL_SUCCESS && state > CL_COMPLETE) return GPU_NOT_READY;
  return lasting(code_of(code == CL_SUCCESS ? state : code));
}

int gpu_event_wait(void *event) {
  const cl_event *at = event;
  if (refused() || !*at) return refused();
  return lasting(code_of(clWaitForEvents(1, at)));
}

int gpu_event_release(void *event) {
  cl_event *at = event;
  if (*at) clReleaseEvent(*at);
  free(at);
  return GPU_OK;
}

int gpu_stream_wait_event(void *stream, void *event) {
  const cl_event *at = event;
  if (refused() || !*at) return refused();
  return code_of(clEnqueueBarrierWithWaitList(stream, 1, at, NULL));
}

/* ---------------------------------------------------------------------------------- programs */

/* A work-group of this kernel has as many items as the engine's argument block has bytes: OpenCL
 * does not say how large an argument is. */
static const char sizes[] =
    "\nkernel __attribute__((reqd_work_group_size(sizeof(%s), 1, 1))) void standin_block(\n"
    "    global float *unused) {}\n";

static const char *block_type(const char *source) {
  return strstr(source, "} conv_args;") ? "conv_args" : "arguments";
}

static cl_program build(const char *source, const char *options) {
  char size[sizeof sizes + 32];
  cl_int code;
  snprintf(size, sizeof size, sizes, block_type(source));
  const char *parts[] = {source, size};
  cl_program program = clCreateProgramWithSource(context, 2, parts, NULL, &code);
  if (program && clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
    clReleaseProgram(program);
    program = NULL;
  }
  return program;
}

int gpu_load(void **module, const void *image, bool prepared) {
  const char *options;
  size_t length;
  if (refused()) return refused();
  const char *source = image_read(image, prepared, &options, &length);
  if (!source) return GPU_INVALID_IMAGE;
  char *ended = strndup(options, length);
  *module = ended ? build(source, ended) : NULL;
  free(ended);
  return *module ? GPU_OK : GPU_INVALID_IMAGE;
}

int gpu_unload(void *module) {
  return code_of(clReleaseProgram(module));
}

static size_t block_bytes(cl_program program) {
  size_t group[3] = {0};
  cl_int code;
  cl_kernel kernel = clCreateKernel(program, "standin_block", &code);
  if (!kernel) return 0;
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group,
                           NULL);
  clReleaseKernel(kernel);
  return group[0];
}

/* As long as its module: nobody releases a function. */
int gpu_function(void **out, void *module, const char *name) {
  cl_int code;
  if (refused()) return refused();
  function *new = calloc(1, sizeof *new);
  if (!new) return GPU_NO_MEMORY;
  new->kernel = clCreateKernel(module, name, &code);
  new->block = block_bytes(module);
  if (!new->kernel || !new->block ||
      clGetKernelInfo(new->kernel, CL_KERNEL_NUM_ARGS, sizeof new->arguments, &new->arguments,
                      NULL) != CL_SUCCESS) {
    free(new);
    return GPU_NOT_FOUND;
  }
  *out = new;
  return GPU_OK;
}

static int set_memory(const function *what, cl_uint index, void *const *value) {
  memory in;
  const int code = find_memory(*value, 1, &in);
  if (code || in.at != *value) return GPU_INVALID_VALUE;
  return code_of(clSetKernelArg(what->kernel, index, sizeof in.buffer, &in.buffer));
}

int gpu_launch(void *of, const unsigned groups[3], const unsigned items[3], void *stream,
               void **arguments) {
  const function *what = of;
  size_t global[3], local[3];
  int code = refused();
  if (!code) code = code_of(clSetKernelArg(what->kernel, 0, what->block, arguments[0]));
  for (cl_uint i = 1; i < what->arguments && !code; i++) code = set_memory(what, i, arguments[i]);
  for (int axis = 0; axis < 3; axis++) {
    local[axis] = items[axis];
    global[axis] = (size_t)groups[axis] * items[axis];
  }
  if (code) return code;
  return code_of(
      clEnqueueNDRangeKernel(stream, what->kernel, 3, NULL, global, local, 0, NULL, NULL));
}
