/* Programs as images that a driver loads, and kernels with their arguments, which are kept until a
 * launch takes them all. */
#include "ocl/engine/driver/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/driver/compiler.h"
#include "ocl/engine/driver/queue.h"

struct runtime_program {
  const runtime_queue *queue;
  void *module;
  char *image; /* as it was compiled, ended by 0 */
  size_t bytes;
};

/* ------------------------------------------------------------------------------------- loading */

enum { JIT_MAX_REGISTERS = 0 };
static const char registers_option[] = "-cl-nv-maxrregcount=";

/* How many registers an item may have is told to the compiler of machine code, which is the driver
 * here. 0: it was not said. */
static uintptr_t registers_in(const char *options) {
  const char *found = strstr(options, registers_option);
  return found ? strtoul(found + sizeof registers_option - 1, NULL, 10) : 0;
}

static int load_image(const runtime_queue *queue, const char *options, const char *image,
                      void **module) {
  int option[] = {JIT_MAX_REGISTERS};
  uintptr_t registers = registers_in(options);
  void *value[] = {(void *)registers};
  return queue->calls->load(module, image, registers ? 1 : 0, option, value);
}

/* A copy of what was compiled, made fit and loaded. */
static convoy_status load_module(runtime_program *program, const char *options, int32_t *code) {
  const runtime_queue *queue = program->queue;
  char *image = malloc(program->bytes + 1);
  *code = -DRIVER_INVALID_VALUE;
  if (!image) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %zu bytes", program->bytes);
  memcpy(image, program->image, program->bytes + 1);
  convoy_status status = queue->driver->prepare ? queue->driver->prepare(image) : CONVOY_OK;
  if (!status) {
    *code = driver_enter(queue);
    if (!*code) *code = -load_image(queue, options, image, &program->module);
    if (*code) status = driver_fail(queue->driver, *code, "loading a program");
  }
  free(image);
  return status;
}

/* Takes over the image. */
static runtime_program *new_program(const runtime_queue *queue, void *image, size_t bytes) {
  runtime_program *program = calloc(1, sizeof *program);
  char *ended = program ? realloc(image, bytes + 1) : NULL;
  if (!ended) {
    free(image);
    free(program);
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a program of %zu bytes", bytes);
    return NULL;
  }
  ended[bytes] = 0;
  *program = (runtime_program){.queue = queue, .image = ended, .bytes = bytes};
  return program;
}

convoy_status driver_compile(runtime_queue *queue, const program_source *source,
                             const char *options, runtime_program **out) {
  void *image = NULL;
  size_t bytes = 0;
  int32_t code;
  convoy_status status = driver_compiler_run(queue, source, options, &image, &bytes);
  if (status) return status;
  runtime_program *program = new_program(queue, image, bytes);
  if (!program) return CONVOY_ERR_MEMORY;
  status = load_module(program, options, &code);
  if (status) {
    char why[320];
    cvy_text_copy(why, sizeof why, cvy_last_error());
    driver_program_release(queue, program);
    return cvy_fail(status, "%s: %s", source->name, why);
  }
  *out = program;
  return CONVOY_OK;
}

int32_t driver_load_program(runtime_queue *queue, const char *options, const void *binary,
                            size_t bytes, runtime_program **out) {
  int32_t code = -DRIVER_NO_MEMORY;
  void *image = malloc(bytes + 1);
  if (!image) return code;
  memcpy(image, binary, bytes);
  runtime_program *program = new_program(queue, image, bytes);
  if (!program) return code;
  if (load_module(program, options, &code))
    driver_program_release(queue, program);
  else
    *out = program;
  return code;
}

void *driver_save(const runtime_program *program, size_t *bytes) {
  void *copy = malloc(program->bytes + 1);
  *bytes = copy ? program->bytes : 0;
  if (copy) memcpy(copy, program->image, program->bytes);
  return copy;
}

void driver_program_release(runtime_queue *queue, runtime_program *program) {
  bool unload = program->module && !queue->recorded;
  if (unload && !driver_enter(queue)) queue->calls->unload(program->module);
  free(program->image);
  free(program);
}

/* ------------------------------------------------------------------------------------- kernels */

enum { MOST_ARGUMENTS = 32, LARGEST_BLOCK = 2048 };

/* The first argument is the block, the others are memory. A driver knows how much it reads. */
struct runtime_kernel {
  void *function;
  void *value[MOST_ARGUMENTS]; /* where each is */
  runtime_memory *memory[MOST_ARGUMENTS];
  uint64_t block[LARGEST_BLOCK / sizeof(uint64_t)];
};

runtime_kernel *driver_kernel(runtime_program *program, const char *name, int32_t *code) {
  const runtime_queue *queue = program->queue;
  runtime_kernel *kernel = calloc(1, sizeof *kernel);
  *code = kernel ? driver_enter(queue) : -DRIVER_NO_MEMORY;
  if (!*code) *code = -queue->calls->function(&kernel->function, program->module, name);
  if (!*code) return kernel;
  free(kernel);
  return NULL;
}

void driver_kernel_release(runtime_kernel *kernel) {
  free(kernel);
}

int32_t driver_argument(runtime_kernel *kernel, int32_t index, size_t bytes, const void *value) {
  const bool fits = index == 0 ? bytes <= sizeof kernel->block : bytes == sizeof(runtime_memory *);
  if (index < 0 || index >= MOST_ARGUMENTS || !fits) return -DRIVER_INVALID_VALUE;
  kernel->value[index] = index == 0 ? (void *)kernel->block : &kernel->memory[index];
  memcpy(kernel->value[index], value, bytes);
  return 0;
}

int32_t driver_launch(runtime_queue *queue, runtime_kernel *kernel, int64_t groups, int64_t items,
                      runtime_event **done) {
  if (groups < 1 || groups > INT32_MAX || items < 1 || items > INT32_MAX)
    return -DRIVER_INVALID_VALUE;
  int32_t code = driver_enter(queue);
  if (!code) {
    code = -queue->calls->launch(kernel->function, (unsigned)groups, 1, 1, (unsigned)items, 1, 1, 0,
                                 queue->stream, kernel->value, NULL);
  }
  return code || !done ? code : driver_marker(queue, done);
}
