/* Fault reports: text files in the state folder, <date>-<process>-<number of the fault>.txt. */
#include "core/report.h"

#include <stdio.h>
#include <string.h>

#include "core/context.h"
#include "core/sensors.h"
#include "os/os.h"

enum { MOST_REPORTS = 20 };

void cvy_note_command(cvy_ring *ring, const char *what, const char *algorithm, uint64_t ticket,
                      int64_t bytes) {
  ring->notes[ring->count++ % CVY_NOTES] = (cvy_note){what, algorithm, ticket, bytes, cvy_clock()};
}

static const char *what_was_done(const convoy_context *context) {
  if (context->lost) return "the device was given up; without failover its operations fail";
  if (!context->device.device) return "the device was given up; the CPU computes from now on";
  if (!context->options.failover) return "the device was mended; what it lost is an error";
  return "the device was mended; what it lost is computed again, on the CPU if need be";
}

static void add_commands(const cvy_ring *ring, cvy_text *text) {
  double now = cvy_clock();
  uint64_t first = ring->count > CVY_NOTES ? ring->count - CVY_NOTES : 0;
  cvy_text_add(text, "\nThe last commands, with the seconds since then, ticket and bytes:\n");
  for (uint64_t i = first; i < ring->count; i++) {
    const cvy_note *note = &ring->notes[i % CVY_NOTES];
    cvy_text_add(text, "%10.6f  %-5s %10llu %12lld  %s\n", now - note->at, note->what,
                 (unsigned long long)note->ticket, (long long)note->bytes, note->algorithm);
  }
}

static void add_facts(const convoy_context *context, convoy_status status, const char *sentence,
                      cvy_text *text) {
  const convoy_device_info *info = &context->device.facts.info;
  const convoy_health *health = &context->health;
  char date[24], sensors[512];
  cvy_calendar(date, sizeof(date));
  cvy_sensors(CVY_SENSORS_ROOT, sensors, sizeof(sensors));
  cvy_text_add(text, "convoy-fault 1\n");
  cvy_text_add(text, "date:    %s\n", date);
  cvy_text_add(text, "process: %d, step %lld\n", cvy_process_id(), (long long)context->step);
  cvy_text_add(text, "device:  %s, %s, %s, driver %s\n", info->id, info->name, info->platform,
               info->driver);
  cvy_text_add(text, "fault:   %s, %s\n", cvy_status_name(status), sentence);
  cvy_text_add(text, "done:    %s\n", what_was_done(context));
  cvy_text_add(text, "cards:   %s\n", *sensors ? sensors : "say nothing");
  cvy_text_add(text, "so far:  %lld operations, %lld on the device, %lld faults, %lld failovers\n",
               (long long)health->operations, (long long)health->device_operations,
               (long long)health->faults, (long long)health->failovers);
}

static bool is_report(const char *name) {
  return cvy_text_is(name, "####-##-##T##:##:##Z-+-+.txt");
}

static void remove_old(void *user, const char *path, int index, int count) {
  (void)user;
  if (index < count - MOST_REPORTS) cvy_file_remove(path);
}

/* The order of the names is the order of the faults: the date begins them. */
static convoy_status name_report(const convoy_context *context, char *path, size_t size) {
  char date[24], file[100];
  cvy_calendar(date, sizeof(date));
  snprintf(file, sizeof(file), "/%s-%d-%06lld.txt", date, cvy_process_id(),
           (long long)context->health.faults);
  return cvy_state_path("/reports", file, path, size);
}

void cvy_report_fault(convoy_context *context, convoy_status status, const char *sentence) {
  char report[12000], path[4096];
  cvy_text text = cvy_text_in(report, sizeof(report));
  add_facts(context, status, sentence, &text);
  add_commands(&context->ring, &text);
  convoy_status kept = name_report(context, path, sizeof(path));
  if (!kept) kept = cvy_file_write(path, report, strlen(report));
  if (!cvy_blackbox_keeps(context, kept)) return;
  cvy_log(CONVOY_LOG_INFO, "a report of the fault is in %s", path);
  *strrchr(path, '/') = '\0';
  cvy_folder_visit(path, is_report, remove_old, NULL);
}
