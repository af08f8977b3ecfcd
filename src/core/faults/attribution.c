/* From the number of a command to the operation, and to the place in the record of faults. */
#include "core/faults/attribution.h"

#include "core/exec/store.h"
#include "core/faults/strikefile.h"
#include "os/os.h"

void cvy_strikes_start(convoy_context *context) {
  context->chooser.strike_limit = context->options.failover ? cvy_strike_limit() : 0;
  if (context->chooser.strike_limit) cvy_strikes_load(&context->chooser.strikes);
}

/* The operation that command `ticket` belongs to. A worker that is gone has told only what was done for
 * certain: there it is the first operation not known to be. */
static const cvy_store *store_of(const convoy_context *context, uint64_t ticket) {
  cvy_usage usage = {0};
  context->device.backend->usage(context->device.device, &usage);
  const uint64_t last = usage.process ? ticket : UINT64_MAX - 1;
  const cvy_store *found = NULL;
  for (const cvy_store *each = context->stores; each; each = each->next) {
    if (!each->number || !each->array || each->ticket < ticket || each->ticket > last) continue;
    if (!found || each->ticket < found->ticket) found = each;
  }
  return found;
}

/* Where the device stood when the operation's algorithm was chosen; now, where there is none. */
static cvy_rung rung_of(const convoy_context *context, const cvy_store *store,
                        const cvy_strike *strike) {
  const cvy_strike *unused;
  const cvy_rung rung = store && store->has_history
                            ? store->choice.rung
                            : cvy_strikes_rung(&context->chooser.strikes, strike->device,
                                               strike->driver, strike->shape_class, strike->last,
                                               context->chooser.strike_limit, &unused);
  return rung == CVY_RUNG_CPU ? CVY_RUNG_CONSERVATIVE : rung;
}

void cvy_attribute_fault(convoy_context *context, uint64_t ticket, convoy_status status,
                         const char *sentence) {
  /* A lack of memory, or of understanding between the processes, is nobody's fault. */
  const bool is_nobodys = status == CONVOY_ERR_MEMORY || status == CONVOY_ERR_IO;
  if (!context->chooser.strike_limit || is_nobodys) return;
  const cvy_engine *engine = &context->device;
  const cvy_store *store = store_of(context, ticket);
  cvy_strike strike = {.algorithm = "*", .shape_class = "*", .count = 1, .last = cvy_date()};
  if (store && store->has_history) {
    const char *name = cvy_chosen(engine, &store->choice)->name;
    cvy_text_copy(strike.algorithm, sizeof strike.algorithm, name);
    cvy_shape_class(&store->history.problem, strike.shape_class, sizeof strike.shape_class);
    cvy_class_example(&store->history.problem, strike.example, sizeof strike.example);
  }
  cvy_text_copy(strike.device, sizeof strike.device, engine->facts.info.name);
  cvy_text_copy(strike.driver, sizeof strike.driver, engine->facts.info.driver);
  cvy_text_copy(strike.reason, sizeof strike.reason, sentence);
  strike.rung = rung_of(context, store, &strike);
  cvy_strikes_note(&context->chooser.strikes, &strike);
}
