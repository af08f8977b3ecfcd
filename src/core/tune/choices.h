/* An algorithm with its parameters, chosen for a problem on an engine, and those that have been
 * chosen. */
#ifndef CVY_CHOICES_H
#define CVY_CHOICES_H

#include "backend.h"
#include "core/faults/crashes.h"
#include "core/faults/fault_table.h"

/* An opened device and its table. */
typedef struct cvy_engine {
  const cvy_backend *backend;
  cvy_device *device; /* NULL: none, or closed for good */
  cvy_facts facts;
  const cvy_crashes *crashes; /* what bars algorithms on it; NULL: nothing */
  bool strict;                /* bars rows with an error_growth */
} cvy_engine;

typedef struct cvy_choice {
  int32_t row; /* in the backend's table */
  cvy_params params;
  int64_t workspace; /* bytes */
  cvy_level level;   /* where the device stood when it was made */
} cvy_choice;

/* Choices that have been made, by problem, engine and level. To look one up anew takes up to 40 us
 * where there are records of many problems, as long as a small layer: so an entry may lie in any
 * place of its row, and the problems of a network do not drive each other out. A row that is full
 * loses its oldest. */
enum { CVY_CHOICE_ROWS = 64, CVY_CHOICE_PLACES = 8 };

typedef struct cvy_choice_made {
  const cvy_backend *backend; /* NULL: an empty place */
  bool strict;                /* of the engine it was made for */
  cvy_problem problem;        /* as cvy_problem_bare says */
  cvy_choice choice;
} cvy_choice_made;

typedef struct cvy_choices {
  cvy_choice_made made[CVY_CHOICE_ROWS][CVY_CHOICE_PLACES];
  int32_t oldest[CVY_CHOICE_ROWS];
} cvy_choices;

/* Problems as cvy_problem_bare says. NULL: not made yet, or forgotten. */
const cvy_choice *cvy_choices_find(const cvy_choices *choices, const cvy_engine *engine,
                                   const cvy_problem *problem, cvy_level level);
void cvy_choices_keep(cvy_choices *choices, const cvy_engine *engine, const cvy_problem *problem,
                      const cvy_choice *choice);
void cvy_choices_forget(cvy_choices *choices);

#endif
