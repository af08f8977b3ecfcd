/* Listing devices over all backends, and finding the one a name means. */
#include "core/devices.h"

#include <string.h>

const cvy_backend *cvy_cpu_backend(void) {
  const cvy_backend *const *each = cvy_backends;
  while (!(*each)->host_memory) each++;
  return *each;
}

static bool same(const char *a, const char *b) {
  return strcasecmp(a, b) == 0;
}

/* Whether a name can only mean the CPU engine, "cpu", or one of its kind by number. */
static bool means_cpu(const char *wanted) {
  const char *cpu = cvy_cpu_backend()->name;
  const size_t length = strlen(cpu);
  return strncasecmp(wanted, cpu, length) == 0 && (!wanted[length] || wanted[length] == ':');
}

/* ---------------------------------------------------------------------------------- listing */

static void ask(const cvy_backend *backend, const cvy_open_options *options, cvy_survey *out) {
  const int32_t room = CVY_MOST_DEVICES - out->count;
  int32_t count = 0;
  const convoy_status status = backend->list(options, &out->facts[out->count], room, &count);
  if (status && !out->failed) {
    out->failed = status;
    cvy_text_copy(out->why, sizeof(out->why), cvy_last_error());
  }
  for (int32_t i = 0; !status && i < count && i < room; i++, out->count++) {
    out->backend[out->count] = backend;
    out->index[out->count] = i;
  }
}

void cvy_devices(const cvy_options *options, cvy_survey *out) {
  const bool cpu_alone = means_cpu(options->device);
  out->count = 0;
  out->failed = CONVOY_OK;
  cvy_text why = cvy_text_in(out->why, sizeof(out->why));
  if (cpu_alone) cvy_text_add(&why, "not asked for, because the device is %s", options->device);
  for (const cvy_backend *const *each = cvy_backends; *each; each++) {
    if (!cpu_alone || (*each)->host_memory) ask(*each, &options->open, out);
  }
}

/* --------------------------------------------------------------------------------- choosing */

/* How well a device fits what is wanted; 0: not at all. */
static int fit(const char *wanted, const cvy_backend *backend, const convoy_device_info *info) {
  bool real_gpu = info->type == CONVOY_DEVICE_GPU && !info->simulator;
  if (same(wanted, "auto")) return real_gpu;
  if (same(wanted, backend->name)) return 1 + !info->simulator + real_gpu;
  if (same(wanted, info->id)) return 4;
  return strcasestr(info->name, wanted) != NULL;
}

static void choose(const cvy_survey *seen, int32_t at, cvy_device_choice *out) {
  out->backend = seen->backend[at];
  out->index = seen->index[at];
  out->info = seen->facts[at].info;
}

/* Takes the device that fits best, if one fits at all: the CPU engine, or one of the others. */
static bool take(const char *wanted, const cvy_survey *seen, bool cpu, cvy_device_choice *out) {
  int best = 0;
  for (int32_t i = 0; i < seen->count; i++) {
    if (seen->backend[i]->host_memory != cpu) continue;
    const int fits = fit(wanted, seen->backend[i], &seen->facts[i].info);
    if (fits <= best) continue;
    best = fits;
    choose(seen, i, out);
  }
  return best > 0;
}

/* Names what was seen, the CPU engine last and only if that is asked for. */
static void name_seen(const cvy_survey *seen, bool cpu_too, cvy_text *text) {
  for (int cpu = 0; cpu <= cpu_too; cpu++) {
    for (int32_t i = 0; i < seen->count; i++) {
      const convoy_device_info *info = &seen->facts[i].info;
      if (seen->backend[i]->host_memory != cpu) continue;
      cvy_text_add(text, "%s%s (%s)", text->used ? ", " : "", info->id, info->name);
    }
  }
  if (text->overflow) memcpy(text->at + text->size - sizeof("..."), "...", sizeof("..."));
}

#define NO_GPU "no GPU is seen through OpenCL, the CPU computes: "

/* `auto` where there is no GPU: what was seen instead, or why nothing was. */
static convoy_status take_cpu(const cvy_survey *seen, cvy_device_choice *out) {
  char names[320];
  cvy_text text = cvy_text_in(names, sizeof(names));
  name_seen(seen, false, &text);
  if (seen->failed)
    cvy_log(CONVOY_LOG_INFO, NO_GPU "%s", seen->why);
  else if (text.used)
    cvy_log(CONVOY_LOG_INFO, NO_GPU "there is only %s", names);
  else
    cvy_log(CONVOY_LOG_INFO, NO_GPU "there is no device");
  take(cvy_cpu_backend()->name, seen, true, out);
  return CONVOY_OK;
}

static convoy_status nobody(const char *wanted, const cvy_survey *seen) {
  char names[320];
  cvy_text text = cvy_text_in(names, sizeof(names));
  name_seen(seen, true, &text);
  return cvy_fail(CONVOY_ERR_NOT_FOUND, "no device is called \"%s\"; what there is: %s", wanted,
                  names);
}

convoy_status cvy_devices_find(const cvy_options *options, cvy_device_choice *out) {
  const char *wanted = options->device;
  cvy_survey seen;
  *out = (cvy_device_choice){0};
  cvy_devices(options, &seen);
  if (means_cpu(wanted)) {
    const bool first = !strchr(wanted, ':') || same(strchr(wanted, ':'), ":0");
    if (first && take(cvy_cpu_backend()->name, &seen, true, out)) return CONVOY_OK;
    return nobody(wanted, &seen);
  }
  if (take(wanted, &seen, false, out)) return CONVOY_OK;
  const convoy_status failed = seen.failed;
  bool not_there = !failed || failed == CONVOY_ERR_UNSUPPORTED || failed == CONVOY_ERR_NOT_FOUND;
  if (same(wanted, "auto") && not_there) return take_cpu(&seen, out);
  if (failed) return cvy_fail(failed, "%s", seen.why);
  return take(wanted, &seen, true, out) ? CONVOY_OK : nobody(wanted, &seen);
}
