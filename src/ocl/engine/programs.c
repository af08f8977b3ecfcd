/* Programs of a device: built at first use, from the disk cache where it has them, and kept with
 * their kernels until the device is closed. */
#include "ocl/engine/programs.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"
#include "ocl/engine/program_disk.h"

typedef struct kernel_entry {
  char name[48];
  program_kernel own;
  struct kernel_entry *next;
} kernel_entry;

typedef struct program_entry {
  const program_source *source;
  uint64_t hash; /* of the options, which are long and begin alike */
  char options[PROGRAM_OPTIONS];
  runtime_program *program;
  kernel_entry *kernels;
  struct program_entry *next;
} program_entry;

static uint64_t hash_text(uint64_t seed, const char *text) {
  return cvy_hash(seed, text, strlen(text) + 1);
}

/* Everything a binary depends on. */
static uint64_t key_of(const cvy_device *device, const program_source *source,
                       const char *options) {
  uint64_t key = device->traits.compiler;
  for (size_t i = 0; source->parts[i]; i++) key = hash_text(key, source->parts[i]);
  return hash_text(key, options);
}

static runtime_program *from_binary(cvy_device *device, const char *options, uint64_t key) {
  if (!program_is_stored(key)) return NULL;
  size_t bytes = 0;
  int32_t code = 0;
  int trial = program_try(key);
  void *binary = program_load(key, &bytes);
  runtime_program *program = NULL;
  if (binary) code = device->runtime->load(device->queue, options, binary, bytes, &program);
  free(binary);
  program_tried(key, trial);
  if (program || !binary) return program;
  cvy_log(CONVOY_LOG_INFO, "the driver refuses a cached program (%s), compiling it again",
          device->runtime->error_name(code));
  program_forget(key);
  return NULL;
}

static void keep_binary(const cvy_device *device, uint64_t key, const runtime_program *program) {
  size_t bytes;
  void *binary = device->runtime->save(program, &bytes);
  if (binary) program_store(key, binary, bytes);
  free(binary);
}

static convoy_status compile(cvy_device *device, const program_source *source, const char *options,
                             runtime_program **out) {
  convoy_status status = device->runtime->compile(device->queue, source, options, out);
  if (status) return status;
  device->programs.compiled++;
  cvy_log(CONVOY_LOG_DEBUG, "compiled %s (%s)", source->name, options);
  return CONVOY_OK;
}

/* From the disk cache, waiting for it if another process is compiling the program. */
static runtime_program *from_cache(cvy_device *device, const char *options, uint64_t key,
                                   int *lock) {
  *lock = -1;
  runtime_program *program = from_binary(device, options, key);
  if (program) return program;
  *lock = program_lock(key, device->programs.build_wait);
  return *lock < 0 ? NULL : from_binary(device, options, key);
}

static convoy_status build(cvy_device *device, const program_source *source, const char *options,
                           runtime_program **out) {
  if (device->traits.keeps_programs) return compile(device, source, options, out);
  uint64_t key = key_of(device, source, options);
  int lock;
  convoy_status status = CONVOY_OK;
  *out = from_cache(device, options, key, &lock);
  if (*out) {
    device->programs.cached++;
  } else {
    status = compile(device, source, options, out);
    if (!status) keep_binary(device, key, *out);
  }
  program_unlock(key, lock);
  return status;
}

static program_entry *find_entry(const cvy_device *device, const program_source *source,
                                 const char *options, uint64_t hash) {
  for (program_entry *at = device->programs.first; at; at = at->next)
    if (at->source == source && at->hash == hash && strcmp(at->options, options) == 0) return at;
  return NULL;
}

static convoy_status find_program(cvy_device *device, const program_source *source,
                                  const char *options, program_entry **out) {
  uint64_t hash = hash_text(0, options);
  *out = find_entry(device, source, options, hash);
  if (*out) return CONVOY_OK;
  program_entry *new = calloc(1, sizeof *new);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a program");
  flush_all(device);
  cvy_phase before = observer_phase(CVY_PHASE_COMPILING);
  convoy_status status = build(device, source, options, &new->program);
  observer_phase(before);
  if (status) {
    free(new);
    return status;
  }
  new->source = source;
  new->hash = hash;
  cvy_text_copy(new->options, sizeof new->options, options);
  new->next = device->programs.first;
  device->programs.first = new;
  *out = new;
  return CONVOY_OK;
}

/* The program itself is not needed here. */
static convoy_status build_for_others(cvy_device *device, const program_source *source,
                                      const char *options, uint64_t key) {
  runtime_program *program = NULL;
  convoy_status status = compile(device, source, options, &program);
  if (status) return status;
  keep_binary(device, key, program);
  device->runtime->program_release(device->queue, program);
  return CONVOY_OK;
}

convoy_status prepare_program(cvy_device *device, const program_source *source,
                              const char *options) {
  program_entry *kept;
  bool keeps = device->traits.keeps_programs || !device->programs.for_others;
  if (keeps) return find_program(device, source, options, &kept);
  uint64_t key = key_of(device, source, options);
  int lock = program_is_stored(key) ? -1 : program_lock(key, 0);
  if (lock < 0) return CONVOY_OK;
  cvy_phase before = observer_phase(CVY_PHASE_COMPILING);
  convoy_status status =
      program_is_stored(key) ? CONVOY_OK : build_for_others(device, source, options, key);
  observer_phase(before);
  program_unlock(key, lock);
  return status;
}

static convoy_status add_kernel(const runtime *calls, program_entry *program, const char *kernel,
                                program_kernel **out) {
  kernel_entry *new = calloc(1, sizeof *new);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a kernel");
  int32_t code;
  new->own = (program_kernel){calls->kernel(program->program, kernel, &code), SLOW_RATE};
  if (!new->own.kernel) {
    free(new);
    return calls->fail(code, kernel);
  }
  cvy_text_copy(new->name, sizeof new->name, kernel);
  new->next = program->kernels;
  program->kernels = new;
  *out = &new->own;
  observer_first_run();
  return CONVOY_OK;
}

convoy_status find_kernel(cvy_device *device, const program_source *source, const char *options,
                          const char *kernel, program_kernel **out) {
  program_entry *program = NULL;
  convoy_status status = find_program(device, source, options, &program);
  if (status) return status;
  for (kernel_entry *at = program->kernels; at; at = at->next) {
    if (strcmp(at->name, kernel) == 0) {
      *out = &at->own;
      return CONVOY_OK;
    }
  }
  return add_kernel(device->runtime, program, kernel, out);
}

static void drop_kernels(const runtime *calls, kernel_entry *entry) {
  while (entry) {
    kernel_entry *next = entry->next;
    calls->kernel_release(entry->own.kernel);
    free(entry);
    entry = next;
  }
}

static void drop(const cvy_device *device, program_entry **link) {
  program_entry *gone = *link;
  *link = gone->next;
  drop_kernels(device->runtime, gone->kernels);
  device->runtime->program_release(device->queue, gone->program);
  free(gone);
}

void programs_drop(cvy_device *device, const program_source *source) {
  for (program_entry **link = &device->programs.first; *link;) {
    if ((*link)->source == source)
      drop(device, link);
    else
      link = &(*link)->next;
  }
}

void programs_close(cvy_device *device) {
  while (device->programs.first) drop(device, &device->programs.first);
}
