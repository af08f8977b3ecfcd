/* Finds minimum, median, maximum and spread. */
#include "common/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* NaN has no place in an order, so it is looked for before sorting. */
static int has_nan(const double *values, int count) {
  for (int i = 0; i < count; i++)
    if (isnan(values[i])) return 1;
  return 0;
}

stats stats_of(const double *values, int count) {
  stats out = {count, NAN, NAN, NAN, NAN};
  double *sorted = NULL;
  if (count > 0 && !has_nan(values, count)) sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return out;
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, ascending);
  int half = count / 2;
  out.min = sorted[0];
  out.max = sorted[count - 1];
  out.median = count % 2 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
  out.spread = (out.max - out.min) / out.median;
  free(sorted);
  return out;
}
