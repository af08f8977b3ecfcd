/* The stood-in GPU's programs, and launches of their kernels. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "gpu.h"
#include "images.h"
#include "inside.h"
#include "record.h"

enum { ARGUMENTS = 32 };

typedef struct function {
  cl_kernel kernel;
  cl_uint arguments;
  size_t block; /* bytes of the first one */
} function;

/* ---------------------------------------------------------------------------------- programs */

/* A work-group of this kernel has as many items as the engine's argument block has bytes: OpenCL
 * does not say how large an argument is. */
static const char sizes[] =
    "\nkernel __attribute__((reqd_work_group_size(sizeof(%s), 1, 1))) void standin_block(\n"
    "    global float *unused) {}\n";

/* Of those that a source declares, its kernels take the last. */
static const char *block_type(const char *source) {
  if (strstr(source, "} copy_args;")) return "copy_args";
  return strstr(source, "} conv_args;") ? "conv_args" : "arguments";
}

static cl_program build(const char *source, const char *options) {
  char size[sizeof sizes + 32];
  cl_int code;
  snprintf(size, sizeof size, sizes, block_type(source));
  const char *parts[] = {source, size};
  cl_program program = clCreateProgramWithSource(gpu.context, 2, parts, NULL, &code);
  if (program && clBuildProgram(program, 1, &gpu.device, options, NULL, NULL) != CL_SUCCESS) {
    clReleaseProgram(program);
    program = NULL;
  }
  return program;
}

/* Programs stay as long as the process, in which each new context loads the same images: PoCL reads
 * all of a source again even where it has compiled it. */
typedef struct kept {
  cl_program program;
  char *options, *source;
  struct kept *next;
} kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept *all;

static cl_program find(const char *source, const char *options) {
  pthread_mutex_lock(&lock);
  kept *at = all;
  while (at && (strcmp(at->source, source) != 0 || strcmp(at->options, options) != 0))
    at = at->next;
  pthread_mutex_unlock(&lock);
  return at ? at->program : NULL;
}

static void keep(cl_program program, const char *source, const char *options) {
  kept *new = malloc(sizeof *new);
  if (!new) return;
  *new = (kept){.program = program, .options = strdup(options), .source = strdup(source)};
  if (!new->options || !new->source || clRetainProgram(program) != CL_SUCCESS) {
    free(new->options);
    free(new->source);
    free(new);
    return;
  }
  pthread_mutex_lock(&lock);
  new->next = all;
  all = new;
  pthread_mutex_unlock(&lock);
}

static cl_program load(const char *source, const char *options) {
  cl_program program = find(source, options);
  if (program) return clRetainProgram(program) == CL_SUCCESS ? program : NULL;
  program = build(source, options);
  if (program) keep(program, source, options);
  return program;
}

int gpu_load(void **module, const void *image, bool prepared) {
  const char *options;
  size_t length;
  int not_now = gpu_failure("gpu_load");
  if (!not_now) not_now = gpu_refused_now();
  if (not_now) return not_now;
  const char *source = image_read(image, prepared, &options, &length);
  if (!source) return GPU_INVALID_IMAGE;
  char *ended = strndup(options, length);
  *module = ended ? load(source, ended) : NULL;
  free(ended);
  return *module ? GPU_OK : GPU_INVALID_IMAGE;
}

int gpu_unload(void *module) {
  const int failure = gpu_failure("gpu_unload");
  if (failure) return failure;
  return gpu_code_of(clReleaseProgram(module));
}

static size_t block_bytes(cl_program program) {
  size_t group[3] = {0};
  cl_int code;
  cl_kernel kernel = clCreateKernel(program, "standin_block", &code);
  if (!kernel) return 0;
  clGetKernelWorkGroupInfo(kernel, gpu.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group,
                           group, NULL);
  clReleaseKernel(kernel);
  return group[0];
}

/* As long as its module: nobody releases a function. */
int gpu_function(void **out, void *module, const char *name) {
  cl_int code;
  const int failure = gpu_failure("gpu_function");
  if (failure || gpu_refused()) return failure ? failure : gpu_refused();
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

/* A buffer is named where it begins only; what lies within one goes by its address. */
static int set_memory(const function *what, cl_uint index, void *const *value) {
  memory in;
  const int code = gpu_find_memory(*value, 1, &in);
  if (code && !(gpu.any_memory && *value)) return GPU_INVALID_VALUE;
  if (code || in.at != *value)
    return gpu_code_of(clSetKernelArgSVMPointer(what->kernel, index, *value));
  return gpu_code_of(clSetKernelArg(what->kernel, index, sizeof in.buffer, &in.buffer));
}

enum { LARGEST_BLOCK = 4096 };

typedef struct recorded_launch {
  void *function;
  unsigned groups[3], items[3];
  void *memory[ARGUMENTS];
  char block[LARGEST_BLOCK];
} recorded_launch;

static int run_launch(const void *what, void *stream) {
  const recorded_launch *of = what;
  void *arguments[ARGUMENTS] = {(void *)(uintptr_t)of->block};
  for (int i = 1; i < ARGUMENTS; i++) arguments[i] = (void *)(uintptr_t)&of->memory[i];
  return gpu_launch(of->function, of->groups, of->items, stream, arguments);
}

static bool record(const function *what, const unsigned groups[3], const unsigned items[3],
                   void *stream, void **arguments, int *code) {
  recorded_launch *new = record_state(stream) ? calloc(1, sizeof *new) : NULL;
  if (!new || what->block > LARGEST_BLOCK || what->arguments > ARGUMENTS) return false;
  new->function = (void *)(uintptr_t)what;
  memcpy(new->groups, groups, sizeof new->groups);
  memcpy(new->items, items, sizeof new->items);
  memcpy(new->block, arguments[0], what->block);
  for (cl_uint i = 1; i < what->arguments; i++) new->memory[i] = *(void **)arguments[i];
  const bool recorded = record_add(stream, run_launch, new, sizeof *new, code);
  free(new);
  return recorded;
}

static atomic_int failing, skipped;

void gpu_fail_next(int code) {
  atomic_store(&failing, code);
}

void gpu_skip_next(int launches) {
  atomic_store(&skipped, launches);
}

static bool is_skipped(void) {
  int left = atomic_load(&skipped);
  while (left > 0 && !atomic_compare_exchange_weak(&skipped, &left, left - 1)) continue;
  return left > 0;
}

/* A kernel's memories before it runs, so that what differs afterwards is what it has written. */
typedef struct snapshot {
  memory of[ARGUMENTS];
  float *before[ARGUMENTS];
  cl_uint count;
} snapshot;

static void take(const function *what, void **arguments, snapshot *out) {
  for (cl_uint i = 1; i < what->arguments && out->count < ARGUMENTS; i++) {
    memory *in = &out->of[out->count];
    if (gpu_find_memory(*(void **)arguments[i], 1, in)) continue;
    float *copy = malloc(in->bytes);
    if (copy) out->before[out->count++] = memcpy(copy, in->at, in->bytes);
  }
}

static void spoil_and_free(fault_action lie, snapshot *taken) {
  for (cl_uint i = 0; i < taken->count; i++) {
    const memory *in = &taken->of[i];
    spoil_values(lie, (float *)(void *)in->at, taken->before[i], in->bytes / sizeof(float));
    free(taken->before[i]);
  }
}

static int run_and_spoil(fault_action lie, const function *what, const size_t *global,
                         const size_t *local, void *stream, void **arguments) {
  snapshot taken = {.count = 0};
  cl_command_queue queue = gpu_queue_of(stream);
  cl_int code = clFinish(queue);
  if (code == CL_SUCCESS) take(what, arguments, &taken);
  if (code == CL_SUCCESS)
    code = clEnqueueNDRangeKernel(queue, what->kernel, 3, NULL, global, local, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = clFinish(queue);
  spoil_and_free(lie, &taken);
  return gpu_code_of(code);
}

int gpu_launch(void *of, const unsigned groups[3], const unsigned items[3], void *stream,
               void **arguments) {
  const function *what = of;
  size_t global[3], local[3];
  const gpu_fault due = gpu_command_fault("gpu_launch", stream);
  int code = due.code ? due.code : gpu_refused();
  if (!code) code = atomic_exchange(&failing, 0);
  if (!code && record(what, groups, items, stream, arguments, &code)) return code;
  if (!code) code = gpu_code_of(clSetKernelArg(what->kernel, 0, what->block, arguments[0]));
  for (cl_uint i = 1; i < what->arguments && !code; i++) code = set_memory(what, i, arguments[i]);
  for (int axis = 0; axis < 3; axis++) {
    local[axis] = items[axis];
    global[axis] = (size_t)groups[axis] * items[axis];
  }
  if (code || gpu.idle || is_skipped()) return code;
  if (due.lie) return run_and_spoil(due.lie, what, global, local, stream, arguments);
  return gpu_enqueued(clEnqueueNDRangeKernel(gpu_queue_of(stream), what->kernel, 3, NULL, global,
                                             local, 0, NULL, NULL),
                      stream);
}
