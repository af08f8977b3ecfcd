/* One failure after another: find the command, tell everyone, void what it wrote, get the device
 * back. */
#include "core/exec/recover.h"

#include "core/exec/device.h"
#include "core/exec/fetches.h"
#include "core/exec/lifetime.h"
#include "core/faults/attribution.h"

/* The run report tells the first one of a call. */
static void note_attempt(convoy_context *context, convoy_status status, const char *sentence) {
  cvy_call *call = &context->call;
  if (call->faults++) return;
  call->first_fault = status;
  cvy_text_copy(call->sentence, sizeof(call->sentence), sentence);
}

static void note_fault(convoy_context *context, convoy_status status, const char *sentence) {
  context->hushed = false;
  context->health.deadlines_missed += status == CONVOY_ERR_DEADLINE;
  note_attempt(context, status, sentence);
}

/* A device that cannot be had back is closed; without failover the context stays without one. */
static void retire_device(convoy_context *context, const char *sentence) {
  const char *id = context->device.facts.info.id;
  cvy_stores_void(context, 0, CONVOY_ERR_DEVICE, sentence);
  cvy_device_close(context);
  if (context->options.failover) {
    cvy_fallback_begin(context, id, sentence);
    cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_DEVICE, "",
               "%s is closed for good, from now on the CPU computes", id);
    return;
  }
  context->lost = true;
  cvy_text_copy(context->lost_sentence, sizeof(context->lost_sentence), sentence);
}

static void note_suspension(convoy_context *context, bool before, convoy_status status,
                            const char *why) {
  const char *id = context->device.facts.info.id;
  if (context->suspended && context->options.failover)
    cvy_fallback_begin(context, id, why);
  else if (!status)
    cvy_fallback_end(context);
  if (!context->suspended || before) return;
  cvy_report(context, CONVOY_EVENT_DOWNGRADE, status, "",
             "%s is suspended, the CPU computes until a later call has it back: %s", id, why);
}

static cvy_behind behind_of(const cvy_engine *engine, cvy_job *at) {
  if (at) at->algorithm = -1;
  return engine->backend->behind ? engine->backend->behind(engine->device, at) : CVY_BEHIND_NOT;
}

static void note_caught_up(convoy_context *context) {
  const cvy_engine *engine = &context->device;
  cvy_usage usage;
  engine->backend->usage(engine->device, &usage);
  cvy_blackbox_done(context, UINT64_MAX);
  if (context->hushed) return;
  cvy_log(CONVOY_LOG_WARNING, "%s has compiled %lld programs and is used again",
          engine->facts.info.id, (long long)(usage.programs_compiled + usage.programs_cached));
}

/* Makes the device usable again, suspends it until a later call, or closes it for good. */
static void have_back(convoy_context *context, const char *sentence) {
  const cvy_engine *engine = &context->device;
  bool before = context->suspended;
  cvy_reply reply;
  char why[256];
  convoy_status status = cvy_device_ask(context, &(cvy_command){.kind = CVY_CLEAR}, &reply);
  cvy_text_copy(why, sizeof(why), cvy_last_error());
  if (reply.emptied) cvy_stores_void(context, 0, CONVOY_ERR_DEVICE, sentence);
  if (reply.emptied) context->has_stream = false;
  context->suspended = status == CONVOY_ERR_DEADLINE;
  if (context->behind && !status) note_caught_up(context);
  context->behind = context->suspended && behind_of(engine, NULL) != CVY_BEHIND_NOT;
  note_suspension(context, before, status, why);
  if (status && !context->suspended) retire_device(context, sentence);
}

/* Nothing has failed: this call's time was over while the device did what is done once. What it was
 * told is void, and the CPU computes until it has compiled it. */
static convoy_status step_aside(convoy_context *context, convoy_status status,
                                const char *sentence) {
  const char *id = context->device.facts.info.id;
  context->faults_met++;
  note_attempt(context, status, sentence);
  cvy_stores_void(context, 0, status, sentence);
  cvy_fetches_void(context, 0);
  context->has_stream = false;
  context->suspended = context->behind = true;
  context->hushed = ++context->asides > CVY_LINES;
  if (context->options.failover) cvy_fallback_begin(context, id, sentence);
  cvy_report(context, CONVOY_EVENT_DOWNGRADE, status, "",
             "%s goes on compiling, the CPU computes until it is done: %s", id, sentence);
  return cvy_fail(status, "%s", sentence);
}

/* `at`: what the device was at, where it tells. */
static void blame(convoy_context *context, const cvy_job *at, uint64_t first, convoy_status status,
                  const char *sentence) {
  cvy_choice choice = {.row = at->algorithm};
  const cvy_fault_entry *why;
  if (choice.row < 0) {
    cvy_attribute_fault(context, first, status, sentence);
    return;
  }
  choice.level = cvy_chooser_level(&context->chooser, &context->device, &at->problem, &why);
  cvy_attribute_to(context, &at->problem, &choice, status, sentence);
}

static convoy_status recover(convoy_context *context, convoy_status status, const cvy_job *at) {
  char sentence[256];
  cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  uint64_t first = 0;
  convoy_status waited = cvy_device_wait(context, context->last_ticket, NULL, &first);
  if (waited) {
    status = waited;
    cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  } else {
    first = context->last_ticket + 1; /* the command was refused at once; earlier ones are good */
  }
  cvy_job now;
  if (behind_of(&context->device, at ? NULL : &now) != CVY_BEHIND_NOT)
    return step_aside(context, status, sentence);
  context->faults_met++;
  note_fault(context, status, sentence);
  cvy_report(context, CONVOY_EVENT_FAULT, status, "", "%s failed: %s",
             context->device.facts.info.id, sentence);
  blame(context, at ? at : &now, first, status, sentence);
  cvy_stores_void(context, first, status, sentence);
  cvy_fetches_void(context, first);
  have_back(context, sentence);
  cvy_blackbox_done(context, UINT64_MAX);
  cvy_report_fault(context, status, sentence);
  return cvy_fail(status, "%s", sentence);
}

convoy_status cvy_recover(convoy_context *context, convoy_status status) {
  return recover(context, status, NULL);
}

convoy_status cvy_recover_wrong(convoy_context *context, const cvy_carried_out *what,
                                uint64_t first) {
  const cvy_engine *engine = &context->device;
  char sentence[256];
  cvy_text_copy(sentence, sizeof(sentence), cvy_last_error());
  context->faults_met++;
  note_fault(context, CONVOY_ERR_WRONG, sentence);
  context->health.wrong_results++;
  cvy_report(context, CONVOY_EVENT_FAULT, CONVOY_ERR_WRONG, cvy_chosen(engine, what->choice)->name,
             "%s computed wrongly: %s", engine->facts.info.id, sentence);
  cvy_attribute_to(context, what->problem, what->choice, CONVOY_ERR_WRONG, sentence);
  cvy_stores_void(context, first, CONVOY_ERR_WRONG, sentence);
  cvy_report_fault(context, CONVOY_ERR_WRONG, sentence);
  return cvy_fail(CONVOY_ERR_WRONG, "%s", sentence);
}

/* Where the CPU computes meanwhile nobody waits for a device that is behind. */
static bool is_to_be_left(convoy_context *context) {
  cvy_job at;
  if (!context->behind || !context->options.failover) return false;
  cvy_behind now = behind_of(&context->device, &at);
  context->behind = now != CVY_BEHIND_NOT;
  if (now == CVY_BEHIND_NOT) recover(context, CONVOY_ERR_DEADLINE, &at);
  return now != CVY_BEHIND_DONE;
}

void cvy_device_wake(convoy_context *context) {
  if (!context->suspended || !context->device.device || is_to_be_left(context)) return;
  have_back(context, "it was to be started anew");
}
