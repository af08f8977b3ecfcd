/* What a public call begins and ends with: the context's lock, what is due by then, queued
 * events. */
#include <stdlib.h>
#include <string.h>

#include "core/exec/commit.h"
#include "core/exec/lifetime.h"
#include "core/exec/recover.h"
#include "os/os.h"

/* The first use in a child made by fork(): the device belongs to the parent. What only the device
 * has is computed anew from its history. */
static void leave_parent(convoy_context *context) {
  context->forked = false;
  context->lost = false;
  if (context->wants_cpu) return;
  cvy_fallback_end(context); /* a child that goes on for weeks was not to have the device */
  cvy_text_copy(context->chosen, sizeof(context->chosen), "after fork() the CPU computes");
  if (!context->device.device) return;
  cvy_device_forget(context);
  cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_OK, "",
             "%s belongs to the parent process, after fork() the CPU computes",
             context->device.facts.info.id);
}

void cvy_lock(convoy_context *context) {
  pthread_mutex_lock(&context->lock);
  if (context->forked) leave_parent(context);
  memset(&context->call, 0, sizeof(context->call));
  context->call.start = cvy_clock();
  context->call.budget = context->call.spent.whole = context->options.wait_budget;
}

void cvy_unlock(convoy_context *context) {
  pthread_mutex_unlock(&context->lock);
}

convoy_status cvy_enter(convoy_context *context) {
  if (!context) return cvy_fail(CONVOY_ERR_ARGUMENT, "context is NULL");
  if (!atomic_load(&context->open)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the context is closed");
  }
  cvy_lock(context);
  cvy_device_wake(context);
  cvy_blackbox_refresh(context);
  cvy_fallback_remind(context);
  cvy_commits_take(context);
  return CONVOY_OK;
}

convoy_status cvy_leave(convoy_context *context, convoy_status status) {
  cvy_report_rest(context);
  convoy_event_fn *fn = context->event_fn;
  void *user = context->event_user;
  int32_t count = 0;
  convoy_event *events = fn ? cvy_take_events(context, &count) : NULL;
  cvy_unlock(context);
  if (count == 0) return status;

  char sentence[512];
  cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  for (int32_t i = 0; i < count; i++) fn(user, &events[i]);
  free(events);
  return status ? cvy_fail(status, "%s", sentence) : CONVOY_OK;
}
