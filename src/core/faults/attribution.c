/* From the number of a command to the operation, and to the place in the table of faults. */
#include "core/faults/attribution.h"

#include "core/exec/store.h"
#include "core/faults/fault_file.h"
#include "os/os.h"

void cvy_fault_table_start(convoy_context *context) {
  context->chooser.fault_limit = context->options.failover ? cvy_fault_limit() : 0;
  if (context->chooser.fault_limit) cvy_fault_table_load(&context->chooser.fault_table);
}

/* The operation that command `ticket` belongs to. A worker that is gone has reported only what was
 * done for certain: there it is the first operation not known to be. */
static const cvy_store *store_of(const convoy_context *context, uint64_t ticket) {
  cvy_usage usage = {0};
  context->device.backend->usage(context->device.device, &usage);
  uint64_t last = usage.process ? ticket : UINT64_MAX - 1;
  const cvy_store *found = NULL;
  for (const cvy_store *each = context->stores; each; each = each->next) {
    if (!each->number || each->ticket < ticket || each->ticket > last) continue;
    if (!found || each->ticket < found->ticket) found = each;
  }
  return found;
}

/* What failed, and how it was carried out; NULL where that is not known. Of many operations that
 * are one command the device says which it was. */
static const cvy_problem *operation_of(const convoy_context *context, const cvy_store *store,
                                       const cvy_choice **choice) {
  const cvy_node *node = store ? store->history : NULL;
  const cvy_engine *engine = &context->device;
  if (!node) return NULL;
  *choice = &node->choice;
  if (!node->composite) return &node->problem;
  return node->composite->step(node, engine->backend->plan_step(engine->device, 0), choice);
}

/* Where the device stood when the operation's algorithm was chosen; now, where there is none. */
static cvy_level level_of(const convoy_context *context, const cvy_choice *choice,
                          const cvy_fault_entry *entry) {
  const cvy_fault_entry *unused;
  const cvy_level level =
      choice ? choice->level
             : cvy_fault_table_level(&context->chooser.fault_table, entry->device, entry->driver,
                                     entry->shape_class, entry->last, context->chooser.fault_limit,
                                     &unused);
  return level == CVY_LEVEL_CPU ? CVY_LEVEL_CONSERVATIVE : level;
}

void cvy_attribute_to(convoy_context *context, const cvy_problem *problem, const cvy_choice *choice,
                      convoy_status status, const char *sentence) {
  /* A lack of memory, or of understanding between the processes, is no algorithm's fault. */
  bool is_nobodys = status == CONVOY_ERR_MEMORY || status == CONVOY_ERR_IO;
  if (!context->chooser.fault_limit || is_nobodys) return;
  const cvy_engine *engine = &context->device;
  cvy_fault_entry entry = {.algorithm = "*", .shape_class = "*", .count = 1, .last = cvy_date()};
  if (problem) {
    cvy_text_copy(entry.algorithm, sizeof entry.algorithm, cvy_chosen(engine, choice)->name);
    cvy_shape_class(problem, entry.shape_class, sizeof entry.shape_class);
    cvy_class_example(problem, entry.example, sizeof entry.example);
  }
  cvy_text_copy(entry.device, sizeof entry.device, engine->facts.info.name);
  cvy_text_copy(entry.driver, sizeof entry.driver, engine->facts.info.driver);
  cvy_text_copy(entry.reason, sizeof entry.reason, sentence);
  entry.level = level_of(context, problem ? choice : NULL, &entry);
  cvy_fault_table_note(&context->chooser.fault_table, &entry);
}

void cvy_attribute_fault(convoy_context *context, uint64_t ticket, convoy_status status,
                         const char *sentence) {
  const cvy_choice *choice = NULL;
  const cvy_problem *problem = operation_of(context, store_of(context, ticket), &choice);
  cvy_attribute_to(context, problem, choice, status, sentence);
}
