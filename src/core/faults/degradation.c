/* What the table of faults says of a class of shapes, said once for each. */
#include "core/faults/degradation.h"

#include <string.h>

#include "core/context.h"

/* True the first time. The oldest of many is forgotten, and reported again. */
static bool is_unreported(cvy_degradation *degradation, const char *shape_class, cvy_level level) {
  uint64_t hash = cvy_hash(0, shape_class, strlen(shape_class) + 1);
  hash = cvy_hash(hash, &level, sizeof level);
  for (size_t i = 0; i < CVY_COUNT(degradation->reported); i++) {
    if (degradation->reported[i] == hash) return false;
  }
  degradation->reported[(size_t)degradation->next++ % CVY_COUNT(degradation->reported)] = hash;
  return true;
}

bool cvy_degradation_allows(convoy_context *context, const cvy_problem *problem) {
  const cvy_fault_entry *why;
  const cvy_engine *engine = &context->device;
  cvy_level level = cvy_chooser_level(&context->chooser, engine, problem, &why);
  if (level == CVY_LEVEL_TUNED) return true;
  char shape_class[CVY_CLASS_TEXT], example[CVY_EXAMPLE_TEXT];
  cvy_shape_class(problem, shape_class, sizeof shape_class);
  if (is_unreported(&context->degradation, shape_class, level)) {
    cvy_class_example(problem, example, sizeof example);
    cvy_report(
        context, CONVOY_EVENT_DOWNGRADE, CONVOY_OK, "",
        "%s for problems like %s on %s: %s failed %d times, last: %s (`convoy health --clear` "
        "forgives)",
        level == CVY_LEVEL_CPU ? "the CPU" : "only conservative algorithms", example,
        engine->facts.info.id, why->algorithm, (int)why->count, why->reason);
  }
  return level != CVY_LEVEL_CPU;
}

bool cvy_degradation_is_unreported(convoy_context *context, const cvy_problem *problem) {
  char shape_class[CVY_CLASS_TEXT];
  cvy_shape_class(problem, shape_class, sizeof shape_class);
  return is_unreported(&context->degradation, shape_class, CVY_LEVELS);
}
