/* Keeps the marker of the context's device, and judges the markers that others left behind. */
#include "core/blackbox.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device.h"
#include "core/params.h"
#include "core/sensors.h"
#include "os/os.h"

static const double refresh_seconds = 60;
enum { MOST_DOWNS = 2 }; /* with so many a device is not opened any more */

bool cvy_blackbox_write(convoy_context *context, const char *path, const char *text) {
  if (!cvy_file_write(path, text, strlen(text))) return true;
  if (!context->box.silent) {
    cvy_log(CONVOY_LOG_WARNING, "the black box is not kept: %s", cvy_last_error());
  }
  context->box.silent = true;
  return false;
}

/* ------------------------------------------------------------------------------ own marker */

static bool own(const cvy_blackbox *box) {
  return box->path[0] && box->process == cvy_process_id();
}

static void write_marker(convoy_context *context) {
  cvy_blackbox *box = &context->box;
  cvy_marker *marker = &box->marker;
  const cvy_ring *ring = &context->ring;
  char text[CVY_MARKER_TEXT];
  if (!own(box)) return;
  marker->step = context->step;
  cvy_calendar(marker->refreshed, sizeof(marker->refreshed));
  if (ring->count) {
    const cvy_note *last = &ring->notes[(ring->count - 1) % CVY_NOTES];
    snprintf(marker->last, sizeof(marker->last), "%s %s", last->what, last->algorithm);
  }
  cvy_marker_format(marker, text);
  cvy_blackbox_write(context, box->path, text);
  box->written = cvy_clock();
}

static bool name_marker(cvy_blackbox *box) {
  static atomic_uint made;
  char folder[400];
  if (!cvy_state_folder(folder, sizeof(folder))) return false;
  snprintf(box->path, sizeof(box->path), "%s/running/%d-%u.txt", folder, box->process,
           atomic_fetch_add(&made, 1u));
  return true;
}

static void begin(convoy_context *context, const convoy_device_info *info) {
  cvy_blackbox *box = &context->box;
  cvy_marker *marker = &box->marker;
  box->process = marker->process = cvy_process_id();
  marker->born = cvy_process_born(marker->process);
  cvy_machine_id(marker->machine, sizeof(marker->machine));
  cvy_boot_id(marker->boot, sizeof(marker->boot));
  cvy_text_copy(marker->device, sizeof(marker->device), info->name);
  cvy_text_copy(marker->driver, sizeof(marker->driver), info->driver);
  cvy_calendar(marker->since, sizeof(marker->since));
  cvy_sensors(CVY_SENSORS_ROOT, marker->cards, sizeof(marker->cards));
  if (name_marker(box)) write_marker(context);
}

void cvy_blackbox_close(convoy_context *context) {
  cvy_blackbox *box = &context->box;
  if (own(box)) cvy_file_remove(box->path);
  box->path[0] = '\0';
}

void cvy_blackbox_refresh(convoy_context *context) {
  cvy_blackbox *box = &context->box;
  if (context->call.start - box->written < refresh_seconds || !own(box)) return;
  cvy_sensors(CVY_SENSORS_ROOT, box->marker.cards, sizeof(box->marker.cards));
  write_marker(context);
}

/* ------------------------------------------------------------------------- others' markers */

/* Says what a marker of an earlier boot means, and keeps it. */
static bool keep_down(const char *path, const cvy_marker *marker) {
  cvy_log(
      CONVOY_LOG_WARNING,
      "the machine went down while %s was in use (last seen %s, step %lld%s%s); a power cut looks "
      "the same, `convoy health --clear` forgets it",
      marker->device, marker->refreshed, (long long)marker->step,
      marker->first_use[0] ? ", first use of " : "", marker->first_use);
  return cvy_downs_add(path, marker);
}

/* Where and when a marker is judged. */
typedef struct here {
  char machine[64], boot[64];
} here;

/* A marker belongs to another machine with the same home folder, whose own it is to judge, to a process
 * that lives, to one that ended without removing it, which means nothing, or to a boot that is over. */
static void judge(void *user, const char *path, int index, int count) {
  const here *now = user;
  size_t bytes;
  cvy_marker marker;
  (void)index;
  (void)count;
  char *text = cvy_file_read(path, &bytes);
  if (!text) return; /* another process has judged it just now */
  bool good = cvy_marker_parse(text, &marker);
  free(text);
  if (good && marker.machine[0] && strcmp(marker.machine, now->machine) != 0) return;
  bool this_boot = good && strcmp(marker.boot, now->boot) == 0;
  if (this_boot && cvy_process_born(marker.process) == marker.born) return;
  if (good && !this_boot && !keep_down(path, &marker)) return;
  cvy_file_remove(path);
}

static void judge_all(void) {
  char folder[400], pattern[512];
  here now;
  cvy_machine_id(now.machine, sizeof(now.machine));
  if (!cvy_state_folder(folder, sizeof(folder)) || !cvy_boot_id(now.boot, sizeof(now.boot))) return;
  snprintf(pattern, sizeof(pattern), "%s/running/*.txt", folder);
  cvy_paths_visit(pattern, judge, &now);
}

convoy_status cvy_blackbox_open(convoy_context *context, const convoy_device_info *info) {
  cvy_downs *downs = &context->box.downs;
  judge_all();
  cvy_downs_load(info, downs);
  if (downs->count >= MOST_DOWNS) {
    return cvy_fail(CONVOY_ERR_DEVICE,
                    "the machine went down %d times while %s was in use, last seen %s; a power cut "
                    "looks the same, `convoy health --clear` forgets it",
                    (int)downs->count, info->name, downs->latest.refreshed);
  }
  begin(context, info);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------ first uses */

/* Whether the kernel is used for the first time; from now on it is not. */
static bool first_use(cvy_blackbox *box, uint64_t hash) {
  for (int32_t i = 0; i < CVY_KERNELS; i++) {
    if (box->used[i] == hash) return false;
  }
  box->used[box->next_used] = hash;
  box->next_used = (box->next_used + 1) % CVY_KERNELS;
  return true;
}

static void name_kernel(cvy_marker *marker, const cvy_algorithm *algorithm,
                        const cvy_params *values, const cvy_problem *problem) {
  char params[128], text[CONVOY_PROBLEM_TEXT];
  cvy_params_text(algorithm, values, params, sizeof(params));
  cvy_problem_text(problem, text, sizeof(text));
  cvy_text_copy(marker->algorithm, sizeof(marker->algorithm), algorithm->name);
  snprintf(marker->first_use, sizeof(marker->first_use), "%s %s%s%s", algorithm->name, params,
           *params ? " " : "", text);
}

static void forget_kernel(cvy_marker *marker) {
  marker->algorithm[0] = marker->first_use[0] = '\0';
}

void cvy_blackbox_before(convoy_context *context, const cvy_choice *choice,
                         const cvy_problem *problem) {
  cvy_blackbox *box = &context->box;
  uint64_t hash = cvy_hash(0, &choice->row, sizeof(choice->row));
  hash = cvy_hash(hash, &choice->params, sizeof(choice->params));
  hash = cvy_hash(hash, &problem->direction, sizeof(problem->direction));
  if (!first_use(box, hash) || !own(box)) return;
  if (box->marker.first_use[0]) {
    forget_kernel(&box->marker); /* the file names it until it names the next */
    if (box->first_ticket != UINT64_MAX) cvy_device_wait(context, box->first_ticket);
  }
  const cvy_algorithm *algorithm = cvy_chosen(&context->device, choice);
  name_kernel(&box->marker, algorithm, &choice->params, problem);
  box->first_ticket = UINT64_MAX;
  write_marker(context);
}

void cvy_blackbox_after(convoy_context *context) {
  cvy_blackbox *box = &context->box;
  if (box->first_ticket == UINT64_MAX) box->first_ticket = context->last_ticket;
}

void cvy_blackbox_done(convoy_context *context, uint64_t ticket) {
  cvy_blackbox *box = &context->box;
  if (!box->marker.first_use[0] || box->first_ticket > ticket) return;
  forget_kernel(&box->marker);
  write_marker(context);
}
