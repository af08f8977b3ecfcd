/* A small training step, two layers forward and backward with accumulated gradients: on host memory
 * and on tensors. Integer data, so every device must give the same bits. */
#ifndef STEP_H
#define STEP_H

#include "convoy/convoy.h"

enum { STEP_Y1, STEP_Y2, STEP_DW2, STEP_DY1, STEP_DW1, STEP_DB, STEP_ARRAYS };
enum { STEP_MOST = 600 };

typedef struct step_result {
  float values[STEP_ARRAYS][STEP_MOST];
} step_result;

extern const int64_t step_counts[STEP_ARRAYS];

/* All elements NaN. */
void step_poison(step_result *result);
/* The first status that is not OK, else OK. */
convoy_status step_host(convoy_context *context, step_result *result);
convoy_status step_tensors(convoy_context *context, step_result *result);
/* Computed by the CPU engine. */
void step_expected(step_result *result);
/* -1 if all arrays are equal, else the index of the first that is not. */
int step_difference(const step_result *a, const step_result *b);

#endif
