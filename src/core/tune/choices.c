#include "core/tune/choices.h"

#include <string.h>

static size_t row_of(const cvy_problem *problem) {
  return cvy_problem_hash(problem) % CVY_CHOICE_ROWS;
}

static bool is_for(const cvy_choice_made *made, const cvy_engine *engine,
                   const cvy_problem *problem, cvy_level level) {
  return made->backend == engine->backend && made->strict == engine->strict &&
         made->choice.level == level && cvy_problem_equal(&made->problem, problem);
}

const cvy_choice *cvy_choices_find(const cvy_choices *choices, const cvy_engine *engine,
                                   const cvy_problem *problem, cvy_level level) {
  const cvy_choice_made *row = choices->made[row_of(problem)];
  for (int i = 0; i < CVY_CHOICE_PLACES; i++) {
    if (is_for(&row[i], engine, problem, level)) return &row[i].choice;
  }
  return NULL;
}

void cvy_choices_keep(cvy_choices *choices, const cvy_engine *engine, const cvy_problem *problem,
                      const cvy_choice *choice) {
  size_t row = row_of(problem);
  int32_t *oldest = &choices->oldest[row];
  cvy_choice_made *place = &choices->made[row][*oldest];
  *oldest = (*oldest + 1) % CVY_CHOICE_PLACES;
  place->backend = engine->backend;
  place->strict = engine->strict;
  cvy_problem_copy(&place->problem, problem);
  place->choice = *choice;
}

void cvy_choices_forget(cvy_choices *choices) {
  memset(choices, 0, sizeof(*choices));
}
