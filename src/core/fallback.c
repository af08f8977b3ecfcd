/* Telling that the CPU computes in place of a device. */
#include "core/fallback.h"

#include <math.h>

#include "core/context.h"
#include "os/os.h"

static const double remind_seconds = 3600;

void cvy_fallback_begin(convoy_context *context, const char *device, const char *why) {
  cvy_fallback *fallback = &context->fallback;
  if (!fallback->active) fallback->since = fallback->told = cvy_clock();
  fallback->active = true;
  cvy_text_copy(fallback->device, sizeof(fallback->device), device);
  cvy_text_copy(fallback->why, sizeof(fallback->why), why);
}

void cvy_fallback_end(convoy_context *context) {
  context->fallback.active = false;
}

int64_t cvy_fallback_seconds(const convoy_context *context) {
  const cvy_fallback *fallback = &context->fallback;
  if (!fallback->active) return 0;
  return 1 + (int64_t)floor(cvy_clock() - fallback->since);
}

/* Such as "3 h": the largest unit of which some have passed. */
static void add_duration(cvy_text *text, int64_t seconds) {
  if (seconds >= 3600)
    cvy_text_add(text, "%lld h", (long long)(seconds / 3600));
  else if (seconds >= 60)
    cvy_text_add(text, "%lld min", (long long)(seconds / 60));
  else
    cvy_text_add(text, "%lld s", (long long)seconds);
}

static void describe_fallback(const convoy_context *context, cvy_text *text) {
  const cvy_fallback *fallback = &context->fallback;
  cvy_text_add(text, " in place of %s for ", fallback->device);
  add_duration(text, cvy_fallback_seconds(context));
  cvy_text_add(text, ": %s", fallback->why);
}

void cvy_context_describe(const convoy_context *context, char *text, size_t size) {
  const bool fallback = context->fallback.active;
  const cvy_engine *engine = fallback ? &context->cpu : cvy_context_engine(context);
  const convoy_device_info *info = &engine->facts.info;
  cvy_text line = cvy_text_in(text, size);
  cvy_text_add(&line, "%s (%s)", info->id, info->name);
  if (fallback)
    describe_fallback(context, &line);
  else if (context->lost)
    cvy_text_add(&line, ", lost: %s", context->lost_sentence);
  else
    cvy_text_add(&line, ": %s", context->chosen);
}

void cvy_fallback_remind(convoy_context *context) {
  cvy_fallback *fallback = &context->fallback;
  const double now = context->call.start;
  if (!fallback->active || now - fallback->told < remind_seconds) return;
  char line[CONVOY_DESCRIPTION_TEXT];
  fallback->told = now;
  cvy_context_describe(context, line, sizeof(line));
  cvy_log(CONVOY_LOG_WARNING, "still computing on %s", line);
}
