/* Listing devices over all backends, and finding the one a name means. */
#include "core/devices.h"

#include <string.h>

enum { MOST = 32 }; /* devices of one backend */

const cvy_backend *cvy_cpu_backend(void) {
  const cvy_backend *const *each = cvy_backends;
  while (!(*each)->host_memory) each++;
  return *each;
}

static convoy_status list(const cvy_backend *backend, const cvy_open_options *options,
                          cvy_facts facts[MOST], int32_t *count) {
  *count = 0;
  convoy_status status = backend->list(options, facts, MOST, count);
  if (*count > MOST) *count = MOST;
  return status;
}

void cvy_devices(const cvy_open_options *options, cvy_facts *out, int32_t capacity, int32_t *count,
                 char *why, size_t why_size) {
  cvy_text_copy(why, why_size, "");
  *count = 0;
  for (const cvy_backend *const *each = cvy_backends; *each; each++) {
    cvy_facts facts[MOST];
    int32_t found;
    if (list(*each, options, facts, &found)) {
      cvy_text_copy(why, why_size, cvy_last_error());
      continue;
    }
    for (int32_t i = 0; i < found; i++, ++*count) {
      if (*count < capacity) out[*count] = facts[i];
    }
  }
}

/* How well a device fits what is wanted; 0: not at all. */
static int fit(const char *wanted, const cvy_backend *backend, const convoy_device_info *info) {
  bool real_gpu = info->type == CONVOY_DEVICE_GPU && !info->simulator;
  if (strcmp(wanted, "auto") == 0) return real_gpu;
  if (strcmp(wanted, backend->name) == 0) return 1 + !info->simulator + real_gpu;
  if (strcmp(wanted, info->id) == 0) return 4;
  return strcasestr(info->name, wanted) != NULL;
}

/* Takes the device of `backend` that fits best, if one fits at all. `seen` gets all that were looked at. */
static convoy_status search(const cvy_backend *backend, const char *wanted,
                            const cvy_open_options *options, cvy_device_choice *out,
                            cvy_text *seen) {
  cvy_facts facts[MOST];
  int32_t count;
  convoy_status status = list(backend, options, facts, &count);
  if (status) return status;
  int best = 0;
  for (int32_t i = 0; i < count; i++) {
    const convoy_device_info *info = &facts[i].info;
    cvy_text_add(seen, "%s%s (%s)", seen->used ? ", " : "", info->id, info->name);
    int fits = fit(wanted, backend, info);
    if (fits <= best) continue;
    best = fits;
    out->backend = backend;
    out->index = i;
    out->info = *info;
  }
  return CONVOY_OK;
}

#define NO_GPU "no GPU is seen through OpenCL, the CPU computes: "

static const char *cut(const cvy_text *seen) {
  return seen->overflow ? "..." : "";
}

/* `auto` where there is no GPU: what was seen instead, or why nothing was. */
static convoy_status take_cpu(convoy_status failed, const cvy_open_options *options,
                              cvy_device_choice *out, cvy_text *seen) {
  if (failed)
    cvy_log(CONVOY_LOG_INFO, NO_GPU "%s", cvy_last_error());
  else if (seen->used)
    cvy_log(CONVOY_LOG_INFO, NO_GPU "there is only %s%s", seen->at, cut(seen));
  else
    cvy_log(CONVOY_LOG_INFO, NO_GPU "there is no device");
  const cvy_backend *cpu = cvy_cpu_backend();
  return search(cpu, cpu->name, options, out, seen);
}

convoy_status cvy_devices_find(const char *wanted, const cvy_open_options *options,
                               cvy_device_choice *out) {
  const cvy_backend *cpu = cvy_cpu_backend();
  bool automatic = strcmp(wanted, "auto") == 0;
  convoy_status status = CONVOY_OK, first = CONVOY_OK;
  char names[320];
  cvy_text seen = cvy_text_in(names, sizeof(names));
  *out = (cvy_device_choice){0};
  if (strcmp(wanted, cpu->name) == 0) return search(cpu, wanted, options, out, &seen);

  for (const cvy_backend *const *each = cvy_backends; *each && !out->backend; each++) {
    if ((*each)->host_memory) continue;
    status = search(*each, wanted, options, out, &seen);
    if (status && !first) first = status;
  }
  if (out->backend) return CONVOY_OK;
  bool not_there = !first || first == CONVOY_ERR_UNSUPPORTED || first == CONVOY_ERR_NOT_FOUND;
  if (automatic && not_there) return take_cpu(first, options, out, &seen);
  if (first) return first;
  search(cpu, wanted, options, out, &seen);
  if (out->backend) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_NOT_FOUND, "no device is called \"%s\"; what there is: %s%s", wanted,
                  names, cut(&seen));
}
