/* Rough on purpose: a plan shall not depend on a machine's mood. */
#include "core/graph/costs.h"

#include <math.h>

#include "problem/operation.h"

/* As bytes that pass meanwhile: what one floating-point operation costs, and what a launch does. */
typedef struct costs {
  double flop_bytes, launch_bytes;
} costs;

/* A processor computes four operations while a byte passes, and moves a megabyte while its threads
 * wake; a card computes sixteen, and moves two while a kernel begins. */
static const costs processor = {1.0 / 4, 1e6}, card = {1.0 / 16, 2e6};

static bool is_card(const cvy_engine *engine) {
  return !engine->backend->host_memory && engine->facts.info.type != CONVOY_DEVICE_CPU;
}

/* A card computes while it waits for memory, so whatever takes less than the other is free there.
 */
double cvy_cost_of(const cvy_engine *engine, const cvy_problem *problem) {
  double bytes = cvy_problem_bytes(problem), flops = cvy_problem_flops(problem);
  if (is_card(engine)) return fmax(bytes, card.flop_bytes * flops) + card.launch_bytes;
  return bytes + processor.flop_bytes * flops + processor.launch_bytes;
}

bool cvy_engine_serves(const cvy_engine *engine, const cvy_problem *problem) {
  const cvy_algorithm *const *rows = engine->backend->algorithms;
  for (int32_t row = 0; rows[row]; row++) {
    char unused[192];
    cvy_text reason = cvy_text_in(unused, sizeof unused);
    cvy_choice choice;
    if (cvy_algorithm_does(rows[row], problem) &&
        cvy_row_takes(engine, row, problem, &choice, &reason))
      return true;
  }
  return false;
}
