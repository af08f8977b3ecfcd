/* Keeps the marker of the context's device. */
#include "core/faults/blackbox.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "core/faults/judge.h"
#include "core/faults/marker_files.h"
#include "core/faults/sensors.h"
#include "core/tune/params.h"
#include "os/os.h"

static const double refresh_seconds = 60;
enum { MOST_CRASHES = 2 }; /* with so many a device is not opened any more */

bool cvy_blackbox_keeps(convoy_context *context, convoy_status status) {
  if (!status) return true;
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

/* What the worker has noted there stays: the end it was told of may take a while. */
static void keep_told(cvy_blackbox *box) {
  cvy_marker before;
  if (cvy_marker_read(box->path, &before)) return;
  cvy_text_copy(box->marker.told, sizeof(box->marker.told), before.told);
}

static void write_marker(convoy_context *context) {
  cvy_blackbox *box = &context->box;
  cvy_marker *marker = &box->marker;
  const cvy_ring *ring = &context->ring;
  char text[CVY_MARKER_TEXT];
  if (!own(box)) return;
  keep_told(box);
  marker->step = context->step;
  cvy_calendar(marker->refreshed, sizeof(marker->refreshed));
  if (ring->count) {
    const cvy_note *last = &ring->notes[(ring->count - 1) % CVY_NOTES];
    snprintf(marker->last, sizeof(marker->last), "%s %s", last->what, last->algorithm);
  }
  cvy_marker_format(marker, text);
  cvy_blackbox_keeps(context, cvy_file_write(box->path, text, strlen(text)));
  box->written = cvy_clock();
}

static convoy_status name_marker(cvy_blackbox *box) {
  static atomic_uint made;
  if (!box->marker.boot[0]) {
    return cvy_fail(CONVOY_ERR_IO, "the kernel does not say which boot this is");
  }
  return cvy_marker_path(&box->marker, atomic_fetch_add(&made, 1u), box->path, sizeof(box->path));
}

static void begin(convoy_context *context, const convoy_device_info *info) {
  cvy_blackbox *box = &context->box;
  cvy_marker *marker = &box->marker;
  box->process = marker->process = cvy_process_id();
  marker->born = cvy_process_born(marker->process);
  cvy_machine_id(marker->machine, sizeof(marker->machine));
  cvy_boot_id(marker->boot, sizeof(marker->boot));
  cvy_pid_namespace(marker->space, sizeof(marker->space));
  cvy_text_copy(marker->device, sizeof(marker->device), info->name);
  cvy_text_copy(marker->driver, sizeof(marker->driver), info->driver);
  cvy_calendar(marker->since, sizeof(marker->since));
  cvy_sensors(CVY_SENSORS_ROOT, marker->cards, sizeof(marker->cards));
  if (cvy_blackbox_keeps(context, name_marker(box)))
    write_marker(context);
  else
    box->path[0] = '\0';
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

convoy_status cvy_blackbox_open(convoy_context *context, const convoy_device_info *info) {
  cvy_crashes *crashes = &context->box.crashes;
  cvy_judge_all();
  cvy_crashes_load(info, crashes);
  if (crashes->count >= MOST_CRASHES) {
    return cvy_fail(CONVOY_ERR_DEVICE,
                    "the machine went down %d times while %s was in use, last seen %s; a power cut "
                    "looks the same, `convoy health --clear` forgets it",
                    (int)crashes->count, info->name, crashes->latest.refreshed);
  }
  begin(context, info);
  return CONVOY_OK;
}

/* ------------------------------------------------------------------------------ first uses */

/* What tells kernels apart. */
typedef struct kernel_key {
  int32_t row, operation;
  cvy_params params;
} kernel_key;
_Static_assert(sizeof(kernel_key) % 8 == 0, "keys are hashed in words of 8 bytes");

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

bool cvy_blackbox_first_use(convoy_context *context, const cvy_problem *problem,
                            const cvy_choice *choice, uint64_t *before) {
  cvy_blackbox *box = &context->box;
  const kernel_key key = {choice->row, problem->operation, choice->params};
  *before = 0;
  if (!first_use(box, cvy_hash_words(&key, sizeof(key))) || !own(box)) return false;
  if (!box->marker.first_use[0]) return true;
  forget_kernel(&box->marker); /* the file names it until it names the next */
  if (box->first_ticket != UINT64_MAX) *before = box->first_ticket;
  return true;
}

void cvy_blackbox_name(convoy_context *context, const cvy_problem *problem,
                       const cvy_choice *choice) {
  cvy_blackbox *box = &context->box;
  name_kernel(&box->marker, cvy_chosen(&context->device, choice), &choice->params, problem);
  box->first_ticket = UINT64_MAX;
  write_marker(context);
}

void cvy_blackbox_launched(convoy_context *context) {
  cvy_blackbox *box = &context->box;
  if (box->first_ticket == UINT64_MAX) box->first_ticket = context->last_ticket;
}

void cvy_blackbox_done(convoy_context *context, uint64_t ticket) {
  cvy_blackbox *box = &context->box;
  if (!box->marker.first_use[0] || box->first_ticket > ticket) return;
  forget_kernel(&box->marker);
  write_marker(context);
}
