/* Layers and losses by their definitions in float64. Inputs are small arrays of these extents. */
#ifndef FORMULAS_H
#define FORMULAS_H

#include <stdbool.h>

#include "convoy/convoy.h"

enum { INPUTS = 5, MOST = 64 };

/* What one looks at: its inputs, of which only the first `differentiable` have a gradient that is
 * compared, its result, and both ways to it. Labels are the last input, whole numbers. */
typedef struct formula {
  const char *name;
  int inputs, differentiable;
  int32_t dims[INPUTS + 1]; /* the result behind the inputs */
  int64_t shape[INPUTS + 1][CONVOY_MAX_DIMS];
  bool labelled;
  convoy_status (*call)(convoy_context *context, convoy_tensor *const *in, convoy_tensor *out);
  void (*of)(const double *const *in, double *out);
} formula;

extern const formula formulas[];
extern const int formula_count;

#endif
