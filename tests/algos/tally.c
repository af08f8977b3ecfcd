/* See tally.h. */
#include "tally.h"

#include <stdio.h>
#include <string.h>

#include "backend.h"

static convoy_direction direction_of_row(const test_case *problem, convoy_direction direction) {
  static const convoy_direction mirrored[CONVOY_DIRECTIONS] = {
      CONVOY_BACKWARD_DATA, CONVOY_FORWARD, CONVOY_BACKWARD_WEIGHTS, CONVOY_BACKWARD_BIAS};
  return problem->conv.transposed ? mirrored[direction] : direction;
}

void tally_add(tally *t, int row, const test_case *problem, convoy_direction direction,
               outcome result) {
  t->count[row][direction_of_row(problem, direction)][result]++;
}

int tally_failures(const tally *t) {
  int failures = 0;
  for (int r = 0; r < t->rows; r++)
    for (int d = 0; d < CONVOY_DIRECTIONS; d++) failures += t->count[r][d][FAILED];
  return failures;
}

static uint64_t claimed_operations(const char *name) {
  for (const cvy_backend *const *backend = cvy_backends; *backend != NULL; backend++)
    for (const cvy_algorithm *const *row = (*backend)->algorithms; *row != NULL; row++)
      if (strcmp((*row)->name, name) == 0) return (*row)->operations;
  return 0;
}

int tally_print(const tally *t) {
  int never_ran = 0;
  printf("%-24s%-20s%9s%9s%9s\n", "algorithm", "direction", "ran", "refused", "failed");
  for (int r = 0; r < t->rows; r++)
    for (int d = 0; d < CONVOY_DIRECTIONS; d++) {
      const int *count = t->count[r][d];
      const bool claimed = claimed_operations(t->row[r]) >> d & 1;
      const bool missing = claimed && count[RAN] == 0;
      never_ran += missing;
      printf("%-24s%-20s%9d%9d%9d%s\n", t->row[r], test_direction_name((convoy_direction)d),
             count[RAN], count[REFUSED], count[FAILED], missing ? "  claimed, but never ran" : "");
    }
  return never_ran;
}
