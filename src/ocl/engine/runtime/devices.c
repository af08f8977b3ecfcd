/* One list of the devices of all runtimes. */
#include "ocl/engine/runtime/devices.h"

#include <string.h>

#include "ocl/engine/cuda/runtime.h"
#include "ocl/engine/hip/runtime.h"
#include "ocl/engine/opencl/runtime.h"

/* In the order in which `auto` prefers them. */
static const runtime *const runtimes[CVY_RUNTIMES] = {&opencl_runtime, &hip_runtime, &cuda_runtime};

/* CONVOY_RUNTIMES leaves out others: a broken one may take along the process that looks. */
static convoy_status find_wanted(uint32_t *wanted) {
  const char *names[CVY_RUNTIMES];
  for (int i = 0; i < CVY_RUNTIMES; i++) names[i] = runtimes[i]->name;
  return cvy_env_list("CONVOY_RUNTIMES", cvy_env("CONVOY_RUNTIMES"), names, CVY_RUNTIMES, wanted);
}

static void add(const runtime *row, const cvy_open_options *options, runtime_device *out,
                int32_t more) {
  for (int32_t i = 0; i < more; i++) {
    out[i].runtime = row;
    out[i].facts.workspace_limit = options->workspace_limit;
    out[i].facts.memory_limit = options->memory_limit;
  }
}

/* A runtime that fails has no devices; where no other has one its failure is that of all. */
convoy_status runtime_devices(const cvy_open_options *options, int32_t enough, runtime_device *out,
                              int32_t *count) {
  uint32_t wanted;
  convoy_status failed = find_wanted(&wanted);
  char why[320] = "";
  *count = 0;
  if (failed) return failed;
  for (size_t i = 0; i < CVY_COUNT(runtimes) && *count < enough; i++) {
    int32_t more = 0, room = RUNTIME_DEVICES - *count;
    if (!(wanted >> i & 1)) continue;
    convoy_status status = runtimes[i]->list(out + *count, room, &more);
    if (status && !failed) {
      failed = status;
      cvy_text_copy(why, sizeof why, cvy_last_error());
    }
    if (status) continue;
    add(runtimes[i], options, out + *count, more < room ? more : room);
    *count += more < room ? more : room;
  }
  if (!failed) return CONVOY_OK;
  if (*count == 0) return cvy_fail(failed, "%s", why);
  cvy_log(CONVOY_LOG_WARNING, "devices may be missing: %s", why);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------ a framework's thread
 */

void runtimes_visit(cvy_visit *out) {
  *out = (cvy_visit){0};
  for (size_t i = 0; i < CVY_COUNT(runtimes); i++)
    if (runtimes[i]->visit)
      out->before[i].there = runtimes[i]->visit(&out->before[i].number, &out->before[i].context);
}

void runtimes_leave(const cvy_visit *visit) {
  for (size_t i = 0; i < CVY_COUNT(runtimes); i++)
    if (visit->before[i].there)
      runtimes[i]->leave(visit->before[i].number, visit->before[i].context);
}
