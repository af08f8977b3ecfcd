/* A plan for people. */
#ifndef CVY_PLAN_TEXT_H
#define CVY_PLAN_TEXT_H

#include "core/graph/graph.h"

/* As convoy_plan_text. */
convoy_status cvy_plan_text(const convoy_graph *graph, char *text, size_t size);

#endif
