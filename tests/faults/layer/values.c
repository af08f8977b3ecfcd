/* Wrong values. */
#include <math.h>
#include <string.h>

#include "strike.h"

/* As bits: an unwritten NaN is as good as another value. */
static bool differs(const float *values, const float *before, size_t i) {
  return !before || memcmp(&values[i], &before[i], sizeof values[i]) != 0;
}

static void change(fault_action action, float *value) {
  *value = action == FAULT_ZERO ? 0.0f : *value + 1.0f + fabsf(*value) / 2;
}

/* Wrong: the middle one of those that are output. Zero: all. */
void spoil_values(fault_action action, float *values, const float *before, size_t count) {
  size_t written = 0, seen = 0;
  for (size_t i = 0; i < count; i++) written += differs(values, before, i);
  for (size_t i = 0; i < count; i++) {
    if (!differs(values, before, i)) continue;
    if (action == FAULT_ZERO || seen == written / 2) change(action, &values[i]);
    seen++;
  }
}
