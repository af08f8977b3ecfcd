/* Health counters and events: nothing that goes another way than asked for is silent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"

enum { FIRST_EVENTS = 8 };

/* NULL for kinds that are not counted. */
static int64_t *counter(convoy_health *health, convoy_event_kind kind) {
  int64_t *const counters[] = {[CONVOY_EVENT_DOWNGRADE] = &health->downgrades,
                               [CONVOY_EVENT_FAULT] = &health->faults,
                               [CONVOY_EVENT_FAILOVER] = &health->failovers,
                               [CONVOY_EVENT_NONFINITE] = NULL};
  return counters[kind];
}

/* A place for one more event, or NULL. */
static convoy_event *next_event(convoy_context *context) {
  if (context->event_count == context->event_capacity) {
    int32_t capacity = context->event_capacity ? 2 * context->event_capacity : FIRST_EVENTS;
    convoy_event *events = realloc(context->events, (size_t)capacity * sizeof(*events));
    if (!events) return NULL;
    context->events = events;
    context->event_capacity = capacity;
  }
  return &context->events[context->event_count++];
}

/* One fault may mean a thousand operations: of each call the first few have a line. So have the
 * first few times that a device is still compiling. */
static bool has_line(convoy_context *context, convoy_event_kind kind) {
  bool of_that =
      kind == CONVOY_EVENT_FAILOVER || (kind == CONVOY_EVENT_DOWNGRADE && context->behind);
  if (context->hushed && of_that) return false;
  return kind != CONVOY_EVENT_FAILOVER || ++context->call.failovers <= CVY_LINES;
}

void cvy_report_rest(convoy_context *context) {
  int32_t rest = context->call.failovers - CVY_LINES;
  if (rest > 0)
    cvy_log(CONVOY_LOG_WARNING, "and %d more computed by %s instead of %s", (int)rest,
            context->cpu.facts.info.id, context->device.facts.info.id);
}

void cvy_report(convoy_context *context, convoy_event_kind kind, convoy_status status,
                const char *algorithm, const char *format, ...) {
  convoy_event event = {sizeof(event), kind, status, 0, "", "", ""};
  char line[1024]; /* the log has it whole, an event as much as it holds */
  va_list arguments;
  va_start(arguments, format);
  cvy_print(line, sizeof(line), format, arguments);
  va_end(arguments);
  cvy_text_copy(event.message, sizeof(event.message), line);
  cvy_text_copy(event.device, sizeof(event.device), context->device.facts.info.id);
  cvy_text_copy(event.algorithm, sizeof(event.algorithm), algorithm);

  if (has_line(context, kind)) cvy_log(CONVOY_LOG_WARNING, "%s", line);
  int64_t *count = counter(&context->health, kind);
  if (count) ++*count;
  /* What happened while the context was opened is reported when the callback is set. */
  bool keep = context->event_fn || context->event_count < FIRST_EVENTS;
  convoy_event *place = keep ? next_event(context) : NULL;
  if (place) *place = event;
}

convoy_event *cvy_take_events(convoy_context *context, int32_t *count) {
  convoy_event *events = context->events;
  *count = context->event_count;
  context->events = NULL;
  context->event_count = context->event_capacity = 0;
  return events;
}

/* Of the whole process: it outlives the devices. */
static void set_left_behind(convoy_health *out) {
  for (const cvy_backend *const *each = cvy_backends; *each; each++) {
    cvy_usage usage = {0};
    if (!(*each)->host_memory) (*each)->usage(NULL, &usage);
    out->retired_bytes += usage.retired_bytes;
    out->workers_abandoned += usage.workers_abandoned;
  }
}

static cvy_usage usage_of(const cvy_engine *engine) {
  cvy_usage usage = {0};
  if (engine->device) engine->backend->usage(engine->device, &usage);
  return usage;
}

/* What is counted since convoy_open and thus outlives the device. */
static void add_counts(const cvy_usage *usage, cvy_compile_workers *workers, convoy_health *out) {
  if (usage->bytes_peak > out->device_bytes_peak) out->device_bytes_peak = usage->bytes_peak;
  out->programs_compiled += usage->programs_compiled + cvy_compile_workers_compiled(workers);
  out->programs_cached += usage->programs_cached;
}

void cvy_health_keep_counts(convoy_context *context) {
  cvy_usage usage = usage_of(&context->device);
  add_counts(&usage, context->compile_workers, &context->health);
}

void cvy_health_collect(const convoy_context *context, convoy_health *out) {
  cvy_usage cpu = usage_of(&context->cpu), device = usage_of(&context->device);
  *out = context->health;
  out->struct_size = sizeof(*out);
  add_counts(&device, context->compile_workers, out);
  out->device_bytes = device.bytes;
  out->device_bytes_held = device.bytes_held;
  out->host_bytes =
      context->memory.live + context->memory.kept + cpu.host_bytes + device.host_bytes;
  out->worker_pid = device.process;
  out->cpu_stalls = cpu.stalls;
  out->fallback_seconds = cvy_fallback_seconds(context);
  set_left_behind(out);
}
