/* Listing devices over all backends, and finding the one a name means. */
#include "core/devices.h"

#include <string.h>

#include "core/roster_file.h"

const cvy_backend *cvy_cpu_backend(void) {
  const cvy_backend *const *each = cvy_backends;
  while (!(*each)->host_memory) each++;
  return *each;
}

/* Whether a name can only mean the CPU engine, "cpu", or one of its kind by number. */
static bool means_cpu(const char *wanted) {
  const char *cpu = cvy_cpu_backend()->name;
  size_t length = strlen(cpu);
  return cvy_begins(wanted, cpu, length) && (!wanted[length] || wanted[length] == ':');
}

/* ---------------------------------------------------------------------------------- listing */

static void ask(const cvy_backend *backend, const cvy_open_options *options, cvy_survey *out) {
  int32_t room = CVY_MOST_DEVICES - out->count;
  int32_t count = 0;
  convoy_status status = backend->list(options, &out->facts[out->count], room, &count);
  if (status && !out->failed) {
    out->failed = status;
    cvy_text_copy(out->why, sizeof(out->why), cvy_last_error());
  }
  if (status) return;
  if (count > room) count = room;
  if (!backend->host_memory) cvy_roster_note(&out->facts[out->count], count);
  for (int32_t i = 0; i < count; i++, out->count++) {
    out->backend[out->count] = backend;
    out->index[out->count] = i;
  }
}

void cvy_devices(const cvy_options *options, cvy_survey *out) {
  bool cpu_alone = means_cpu(options->device);
  out->count = 0;
  out->failed = CONVOY_OK;
  out->asked = !cpu_alone;
  cvy_text why = cvy_text_in(out->why, sizeof(out->why));
  if (cpu_alone) cvy_text_add(&why, "not asked for, because the device is %s", options->device);
  for (const cvy_backend *const *each = cvy_backends; *each; each++) {
    if (!cpu_alone || (*each)->host_memory) ask(*each, &options->open, out);
  }
}

void cvy_devices_missing(const cvy_survey *seen, char *text, size_t size) {
  char names[320];
  cvy_text out = cvy_text_in(text, size), gone = cvy_text_in(names, sizeof(names));
  cvy_text_add(&out, "%s", seen->why);
  if (seen->asked) cvy_roster_name_gone(seen->facts, seen->count, &gone);
  if (gone.used)
    cvy_text_add(&out, "%sthis machine has also had %s", out.used ? "; " : "", gone.at);
}

/* --------------------------------------------------------------------------------- choosing */

/* How well a device fits what is wanted; 0: not at all. */
static int fit(const char *wanted, const convoy_device_info *info) {
  size_t kind = strcspn(info->id, ":");
  bool real_gpu = info->type == CONVOY_DEVICE_GPU && !info->simulator;
  if (cvy_same(wanted, "auto")) return real_gpu;
  if (strlen(wanted) == kind && cvy_begins(wanted, info->id, kind))
    return 1 + !info->simulator + real_gpu;
  if (cvy_same(wanted, info->id)) return 4;
  return cvy_has(info->name, wanted);
}

/* The same card is seen once through each runtime that is installed. */
static void name_twins(const cvy_survey *seen, int32_t at, cvy_text *why) {
  const char *bus = seen->facts[at].bus;
  for (int32_t i = 0; i < seen->count && bus[0]; i++) {
    if (i != at && cvy_same(seen->facts[i].bus, bus))
      cvy_text_add(why, ", the same card as %s", seen->facts[i].info.id);
  }
}

static void choose(const cvy_survey *seen, int32_t at, cvy_device_choice *out) {
  out->backend = seen->backend[at];
  out->index = seen->index[at];
  out->info = seen->facts[at].info;
}

/* Takes the device that fits best, if one fits at all: the CPU engine, or one of the others. Of
 * equals the first is taken: a card through OpenCL before HIP before CUDA. */
static bool take(const char *wanted, const cvy_survey *seen, bool cpu, cvy_device_choice *out) {
  int best = 0;
  for (int32_t i = 0; i < seen->count; i++) {
    if (seen->backend[i]->host_memory != cpu) continue;
    int fits = fit(wanted, &seen->facts[i].info);
    if (fits <= best) continue;
    best = fits;
    choose(seen, i, out);
  }
  return best > 0;
}

/* Names what was seen, the CPU engine last and only if that is asked for. */
static void name_seen(const cvy_survey *seen, bool cpu_too, cvy_text *text) {
  const char *comma = "";
  int kinds = cpu_too ? 2 : 1;
  for (int cpu = 0; cpu < kinds; cpu++) {
    for (int32_t i = 0; i < seen->count; i++) {
      const convoy_device_info *info = &seen->facts[i].info;
      if (seen->backend[i]->host_memory != (cpu == 1)) continue;
      cvy_text_add(text, "%s%s (%s)", comma, info->id, info->name);
      comma = ", ";
    }
  }
}

/* ---------------------------------------------------------------- where no device is so called */

/* `auto` where there is no GPU: what was seen instead, or why nothing was. */
static convoy_status take_cpu(const cvy_survey *seen, cvy_device_choice *out) {
  char names[320], missing[320];
  cvy_text others = cvy_text_in(names, sizeof(names));
  cvy_text why = cvy_text_in(out->why, sizeof(out->why));
  name_seen(seen, false, &others);
  cvy_devices_missing(seen, missing, sizeof(missing));
  cvy_text_add(&why, "no GPU is seen through OpenCL, HIP or CUDA, the CPU computes");
  if (others.used) cvy_text_add(&why, ": there is only %s", names);
  if (*missing) cvy_text_add(&why, "%s %s", others.used ? ";" : ":", missing);
  out->makeshift = true;
  take(cvy_cpu_backend()->name, seen, true, out);
  return CONVOY_OK;
}

static convoy_status mistake(const char *wanted, const cvy_survey *seen, cvy_device_choice *out) {
  char text[512], missing[320];
  cvy_text sentence = cvy_text_in(text, sizeof(text));
  out->mistaken = true;
  cvy_text_add(&sentence, "no device is called \"%s\"; what there is: ", wanted);
  name_seen(seen, true, &sentence);
  cvy_devices_missing(seen, missing, sizeof(missing));
  if (seen->asked && *missing) cvy_text_add(&sentence, "; %s", missing);
  return cvy_fail(CONVOY_ERR_NOT_FOUND, "%s", text);
}

/* What was there once, and is not, or cannot be asked for. */
static convoy_status gone(const char *wanted, const cvy_known *known, const cvy_survey *seen,
                          cvy_device_choice *out) {
  bool unseen = !seen->failed || seen->failed == CONVOY_ERR_NOT_FOUND;
  char text[512];
  cvy_text sentence = cvy_text_in(text, sizeof(text));
  cvy_text_copy(out->info.id, sizeof(out->info.id), known->id);
  cvy_text_copy(out->info.name, sizeof(out->info.name), known->name);
  cvy_text_copy(out->info.platform, sizeof(out->info.platform), known->platform);
  cvy_text_copy(out->info.driver, sizeof(out->info.driver), known->driver);
  cvy_text_add(&sentence, "\"%s\" was %s (%s), last seen on %s, and ", wanted, known->id,
               known->name, known->last);
  cvy_text_add(&sentence, unseen ? "is gone" : "cannot be asked for");
  if (*seen->why) cvy_text_add(&sentence, ": %s", seen->why);
  if (unseen) cvy_text_add(&sentence, "; what there is: ");
  if (unseen) name_seen(seen, true, &sentence);
  return cvy_fail(unseen ? CONVOY_ERR_DEVICE : seen->failed, "%s", text);
}

/* A part of its own name opens the CPU engine, but a device that has such a name goes first, also
 * one that is gone: "5600" may be a card, and the processor beside it. */
static convoy_status look_further(const char *wanted, const cvy_survey *seen,
                                  cvy_device_choice *out) {
  cvy_known known;
  if (cvy_roster_recall(wanted, &known)) return gone(wanted, &known, seen, out);
  if (!take(wanted, seen, true, out)) return mistake(wanted, seen, out);
  cvy_log(CONVOY_LOG_WARNING,
          "\"%s\" is part of the CPU's name and of no other device's, so the CPU computes; \"%s\" "
          "says that without a look at others",
          wanted, out->info.id);
  return CONVOY_OK;
}

/* --------------------------------------------------------------------------------- finding */

static convoy_status find_cpu(const char *wanted, const cvy_survey *seen, cvy_device_choice *out) {
  const char *number = strchr(wanted, ':');
  if (number && strcmp(number, ":0") != 0) return mistake(wanted, seen, out);
  take(cvy_cpu_backend()->name, seen, true, out);
  return CONVOY_OK;
}

static bool is_kind_of(const char *wanted, const cvy_backend *backend) {
  const char *const *kind = backend->kinds;
  while (kind && *kind && !cvy_same(wanted, *kind)) kind++;
  return cvy_same(wanted, backend->name) || (kind && *kind);
}

/* Names that leave the choice open have no device that could be gone. */
static bool is_open(const char *wanted) {
  const cvy_backend *const *each = cvy_backends;
  while (*each && !is_kind_of(wanted, *each)) each++;
  return *each || cvy_same(wanted, "auto");
}

/* Why a device was taken, beside that it is there. */
static void explain(const char *wanted, const cvy_survey *seen, cvy_device_choice *out) {
  static const char *const runtimes[CVY_RUNTIMES] = {
      [CVY_RUNTIME_OPENCL] = "OpenCL", [CVY_RUNTIME_HIP] = "HIP", [CVY_RUNTIME_CUDA] = "CUDA"};
  cvy_text why = cvy_text_in(out->why, sizeof(out->why));
  int32_t at = 0;
  while (seen->backend[at] != out->backend || seen->index[at] != out->index) at++;
  if (cvy_same(wanted, "auto"))
    cvy_text_add(&why, "the first GPU of %s", runtimes[seen->facts[at].runtime]);
  else
    cvy_text_add(&why, "asked for as \"%s\"", wanted);
  name_twins(seen, at, &why);
}

convoy_status cvy_devices_find(const cvy_options *options, cvy_device_choice *out) {
  const char *wanted = options->device;
  bool automatic = cvy_same(wanted, "auto");
  cvy_survey seen;
  *out = (cvy_device_choice){0};
  cvy_devices(options, &seen);
  cvy_text why = cvy_text_in(out->why, sizeof(out->why));
  cvy_text_add(&why, "asked for as \"%s\"", wanted);
  if (!seen.asked) return find_cpu(wanted, &seen, out);
  if (take(wanted, &seen, false, out)) {
    explain(wanted, &seen, out);
    return CONVOY_OK;
  }
  if (seen.failed == CONVOY_ERR_ARGUMENT) return cvy_fail(seen.failed, "%s", seen.why);
  if (!is_open(wanted)) return look_further(wanted, &seen, out);
  const bool nothing_there =
      !seen.failed || seen.failed == CONVOY_ERR_UNSUPPORTED || seen.failed == CONVOY_ERR_NOT_FOUND;
  if (automatic && nothing_there) return take_cpu(&seen, out);
  if (seen.failed) return cvy_fail(seen.failed, "%s", seen.why);
  return cvy_fail(CONVOY_ERR_NOT_FOUND, "\"%s\" has no device", wanted);
}
