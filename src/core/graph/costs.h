/* What an operation costs an engine, roughly, for choices between ways to say the same. */
#ifndef CVY_COSTS_H
#define CVY_COSTS_H

#include "core/exec/store.h"

/* As bytes moved: its own, and what the engine moves while it computes and while it begins. */
double cvy_cost_of(const cvy_engine *engine, const cvy_problem *problem);
/* Whether the engine has an algorithm for it. */
bool cvy_engine_serves(const cvy_engine *engine, const cvy_problem *problem);

#endif
