/* Programs of a device: built at first use, from the disk cache where it has them, and kept with
 * their kernels until the device is closed. */
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/engine.h"

typedef struct program_kernel_entry {
  char name[48];
  program_kernel own;
  struct program_kernel_entry *next;
} program_kernel_entry;

struct program_cache {
  const program_source *source;
  uint64_t hash; /* of the options: they are long and begin alike */
  char options[PROGRAM_OPTIONS];
  cl_program program;
  program_kernel_entry *kernels;
  struct program_cache *next;
};

static cl_uint count_parts(const program_source *source) {
  cl_uint count = 0;
  while (source->parts[count]) count++;
  return count;
}

static uint64_t hash_text(uint64_t seed, const char *text) {
  return cvy_hash(seed, text, strlen(text) + 1);
}

/* Everything a binary depends on. */
static uint64_t key_of(const cvy_device *device, const program_source *source,
                       const char *options) {
  uint64_t key = 0;
  for (cl_uint i = 0; source->parts[i]; i++) key = hash_text(key, source->parts[i]);
  key = hash_text(key, options);
  key = hash_text(key, device->facts.info.name);
  key = hash_text(key, device->facts.info.driver);
  key = hash_text(key, device->facts.info.platform);
  return hash_text(key, device->platform_version);
}

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

static convoy_status fail_build(cvy_device *device, const program_source *source,
                                const char *options, cl_program program, cl_int code) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = calloc(1, size + 1);
  if (log) clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  cvy_log(CONVOY_LOG_DEBUG, "building %s (%s):\n%s", source->name, options, log ? log : "");
  if (log) shorten(log);
  const convoy_status status =
      cvy_fail(CONVOY_ERR_DEVICE, "%s does not compile with '%s': %s (%d): %.300s", source->name,
               options, cl_error_name(code), (int)code, log && *log ? log : "no log");
  free(log);
  return status;
}

static cl_program build_binary(cvy_device *device, const char *options, const unsigned char *binary,
                               size_t bytes, cl_int *code) {
  cl_int state = CL_SUCCESS;
  cl_program program =
      clCreateProgramWithBinary(device->context, 1, &device->id, &bytes, &binary, &state, code);
  if (*code == CL_SUCCESS) *code = state;
  if (program && *code == CL_SUCCESS)
    *code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
  return program;
}

static cl_program from_binary(cvy_device *device, const char *options, uint64_t key) {
  if (!program_is_stored(key)) return NULL;
  size_t bytes = 0;
  cl_int code = CL_SUCCESS;
  const int trial = program_try(key);
  unsigned char *binary = program_load(key, &bytes);
  cl_program program = binary ? build_binary(device, options, binary, bytes, &code) : NULL;
  free(binary);
  program_tried(key, trial);
  if (program && code == CL_SUCCESS) return program;
  if (binary) {
    cvy_log(CONVOY_LOG_INFO, "the driver refuses a cached program (%s), compiling it again",
            cl_error_name(code));
    program_forget(key);
  }
  if (program) clReleaseProgram(program);
  return NULL;
}

static convoy_status from_source(cvy_device *device, const program_source *source,
                                 const char *options, cl_program *out) {
  cl_int code;
  cl_program program = clCreateProgramWithSource(device->context, count_parts(source),
                                                 (const char **)source->parts, NULL, &code);
  if (!program) return cl_fail(code, "cannot create a program");
  code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
  if (code != CL_SUCCESS) {
    const convoy_status status = fail_build(device, source, options, program, code);
    clReleaseProgram(program);
    return status;
  }
  *out = program;
  return CONVOY_OK;
}

static void keep_binary(uint64_t key, cl_program program) {
  size_t bytes = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
    return;
  unsigned char *binary = bytes ? malloc(bytes) : NULL;
  if (!binary) return;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
    program_store(key, binary, bytes);
  free(binary);
}

/* PoCL has a cache of its own, unless told to have none. For a binary it compiles every kernel of the
 * program once more, for work-groups of any size, which takes longer than all the rest. */
static bool driver_keeps_programs(const cvy_device *device) {
  const char *keeps = cvy_env("POCL_KERNEL_CACHE");
  return strcmp(device->facts.info.platform, "Portable Computing Language") == 0 &&
         !(keeps && strcmp(keeps, "0") == 0);
}

static convoy_status compile(cvy_device *device, const program_source *source, const char *options,
                             cl_program *out) {
  const convoy_status status = from_source(device, source, options, out);
  if (status) return status;
  device->programs_compiled++;
  cvy_log(CONVOY_LOG_DEBUG, "compiled %s (%s)", source->name, options);
  return CONVOY_OK;
}

/* From the disk cache, waiting for it if another process is compiling the program. */
static cl_program from_cache(cvy_device *device, const char *options, uint64_t key, int *lock) {
  *lock = -1;
  cl_program program = from_binary(device, options, key);
  if (program) return program;
  *lock = program_lock(key, device->build_wait);
  return *lock < 0 ? NULL : from_binary(device, options, key);
}

static convoy_status build(cvy_device *device, const program_source *source, const char *options,
                           cl_program *out) {
  if (driver_keeps_programs(device)) return compile(device, source, options, out);
  const uint64_t key = key_of(device, source, options);
  int lock;
  convoy_status status = CONVOY_OK;
  *out = from_cache(device, options, key, &lock);
  if (*out) {
    device->programs_cached++;
  } else {
    status = compile(device, source, options, out);
    if (!status) keep_binary(key, *out);
  }
  program_unlock(key, lock);
  return status;
}

static convoy_status find_program(cvy_device *device, const program_source *source,
                                  const char *options, program_cache **out) {
  const uint64_t hash = hash_text(0, options);
  for (program_cache *at = device->programs; at; at = at->next)
    if (at->source == source && at->hash == hash && strcmp(at->options, options) == 0) {
      *out = at;
      return CONVOY_OK;
    }
  program_cache *new = calloc(1, sizeof *new);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a program");
  flush_all(device);
  const cvy_phase before = watch_phase(CVY_PHASE_COMPILING);
  const convoy_status status = build(device, source, options, &new->program);
  watch_phase(before);
  if (status) {
    free(new);
    return status;
  }
  new->source = source;
  new->hash = hash;
  cvy_text_copy(new->options, sizeof new->options, options);
  new->next = device->programs;
  device->programs = new;
  *out = new;
  return CONVOY_OK;
}

/* The program itself is not needed here. */
static convoy_status build_for_others(cvy_device *device, const program_source *source,
                                      const char *options, uint64_t key) {
  cl_program program = NULL;
  const convoy_status status = compile(device, source, options, &program);
  if (status) return status;
  keep_binary(key, program);
  clReleaseProgram(program);
  return CONVOY_OK;
}

convoy_status prepare_program(cvy_device *device, const program_source *source,
                              const char *options) {
  program_cache *kept;
  if (driver_keeps_programs(device)) return find_program(device, source, options, &kept);
  const uint64_t key = key_of(device, source, options);
  const int lock = program_is_stored(key) ? -1 : program_lock(key, 0);
  if (lock < 0) return CONVOY_OK;
  const cvy_phase before = watch_phase(CVY_PHASE_COMPILING);
  const convoy_status status =
      program_is_stored(key) ? CONVOY_OK : build_for_others(device, source, options, key);
  watch_phase(before);
  program_unlock(key, lock);
  return status;
}

convoy_status find_kernel(cvy_device *device, const program_source *source, const char *options,
                          const char *kernel, program_kernel **out) {
  program_cache *program = NULL;
  const convoy_status status = find_program(device, source, options, &program);
  if (status) return status;
  for (program_kernel_entry *at = program->kernels; at; at = at->next)
    if (strcmp(at->name, kernel) == 0) {
      *out = &at->own;
      return CONVOY_OK;
    }
  program_kernel_entry *new = calloc(1, sizeof *new);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a kernel");
  cl_int code;
  new->own = (program_kernel){clCreateKernel(program->program, kernel, &code), SLOW_RATE};
  if (!new->own.kernel) {
    free(new);
    return cl_fail(code, kernel);
  }
  cvy_text_copy(new->name, sizeof new->name, kernel);
  new->next = program->kernels;
  program->kernels = new;
  *out = &new->own;
  watch_first_run();
  return CONVOY_OK;
}

static void drop_kernels(program_kernel_entry *entry) {
  while (entry) {
    program_kernel_entry *next = entry->next;
    clReleaseKernel(entry->own.kernel);
    free(entry);
    entry = next;
  }
}

void programs_close(cvy_device *device) {
  while (device->programs) {
    program_cache *next = device->programs->next;
    drop_kernels(device->programs->kernels);
    clReleaseProgram(device->programs->program);
    free(device->programs);
    device->programs = next;
  }
}
