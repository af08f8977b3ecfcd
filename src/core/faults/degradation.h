/* Degradation: how far the faults recorded keep operations off the device (faults/fault_table.h),
 * and what of that has been reported. */
#ifndef CVY_DEGRADATION_H
#define CVY_DEGRADATION_H

#include <stdbool.h>
#include <stdint.h>

#include "problem/problem.h"

/* Classes of shapes that have been reported: more than a network has, or with each operation that
 * goes round them the oldest would be reported again. */
typedef struct cvy_degradation {
  uint64_t reported[512];
  int32_t next;
} cvy_degradation;

/* Whether the operation may run on the device; false with one report for each class of shapes that
 * is left to the CPU, because of the faults recorded. */
bool cvy_degradation_allows(convoy_context *context, const cvy_problem *problem);
/* The device takes none of the operation's class: true the first time, when it is to be
 * reported. */
bool cvy_degradation_is_unreported(convoy_context *context, const cvy_problem *problem);

#endif
