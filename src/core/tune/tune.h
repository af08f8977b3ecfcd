/* Tuning one problem: what convoy_tune does. */
#ifndef CVY_TUNE_H
#define CVY_TUNE_H

#include "core/context.h"

convoy_status cvy_tune(convoy_context *context, const cvy_problem *problem, double seconds,
                       convoy_tuned *out);

#endif
