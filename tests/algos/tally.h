/* How often each row of the table ran and refused, per direction as the row sees it: the forward of
 * a transposed convolution is its backward_data. */
#ifndef TEST_TALLY_H
#define TEST_TALLY_H

#include "check.h"

#define TALLY_ROWS 64

typedef struct tally {
  const char *row[TALLY_ROWS];
  int rows;
  int count[TALLY_ROWS][CONVOY_DIRECTIONS][FAILED + 1];
} tally;

void tally_add(tally *t, int row, const test_case *problem, convoy_direction direction,
               outcome result);
int tally_failures(const tally *t);

/* Prints the table; returns the number of directions that a row claims and never ran. */
int tally_print(const tally *t);

#endif
