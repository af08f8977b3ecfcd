/* A compiler that comes with the driver is of its version, and goes first. Else the card's OpenCL
 * compiles as it does for itself, and what it has compiled serves both, in the cache on disk
 * too. */
#include "ocl/engine/driver/compiler.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/opencl/runtime.h"

enum { MOST_LISTED = 64 };

/* Where both say at which place on the bus they are, that decides; else the name does, of which
 * OpenCL may have less. */
static bool is_same_card(const cvy_facts *opencl, const cvy_facts *facts) {
  if (opencl->bus[0] && facts->bus[0]) return cvy_same(opencl->bus, facts->bus);
  return opencl->info.name[0] && strstr(facts->info.name, opencl->info.name);
}

static bool find_opencl(const cvy_facts *facts, runtime_device *out) {
  runtime_device there[MOST_LISTED];
  int32_t count = 0;
  if (opencl_runtime.list(there, MOST_LISTED, &count)) return false;
  for (int32_t i = 0; i < count && i < MOST_LISTED; i++) {
    *out = there[i];
    if (is_same_card(&there[i].facts, facts)) return true;
  }
  return false;
}

void driver_compiler_version(const cvy_facts *facts, cvy_text *text) {
  runtime_device opencl;
  if (find_opencl(facts, &opencl)) cvy_text_add(text, ", %s", opencl.facts.info.driver);
}

static convoy_status fail_without(const runtime_queue *queue, const cvy_facts *facts) {
  return cvy_fail(
      CONVOY_ERR_UNSUPPORTED,
      "%s (%s, bus %s) has no compiler: no OpenCL device is the same card%s", facts->info.id,
      facts->info.name, facts->bus[0] ? facts->bus : "unknown",
      queue->driver->target ? ", and libamd_comgr is not there or does not know it" : "");
}

convoy_status driver_compiler_open(runtime_queue *queue, const cvy_facts *facts,
                                   runtime_traits *traits) {
  const gpu_driver *driver = queue->driver;
  driver_compiler *compiler = &queue->compiler;
  runtime_device opencl;
  *traits = (runtime_traits){0};
  if (driver->target &&
      driver->target(queue->device, compiler->target, sizeof compiler->target, &traits->compiler))
    return CONVOY_OK;
  if (!find_opencl(facts, &opencl)) return fail_without(queue, facts);
  convoy_status status = opencl_runtime.open(&opencl, &compiler->opencl, traits);
  traits->keeps_programs = false; /* for itself, not as images */
  return status;
}

void driver_compiler_close(runtime_queue *queue) {
  if (queue->compiler.opencl) opencl_runtime.close(queue->compiler.opencl);
}

convoy_status driver_compiler_run(runtime_queue *queue, const program_source *source,
                                  const char *options, void **image, size_t *bytes) {
  const driver_compiler *compiler = &queue->compiler;
  runtime_program *program;
  if (!compiler->opencl)
    return queue->driver->compile(compiler->target, source, options, image, bytes);
  convoy_status status = opencl_runtime.compile(compiler->opencl, source, options, &program);
  if (status) return status;
  *image = opencl_runtime.save(program, bytes);
  opencl_runtime.program_release(compiler->opencl, program);
  if (*image) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "OpenCL does not hand out what it made of %s", source->name);
}
