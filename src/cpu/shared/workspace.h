/* The one refusal that every row has: it would need more memory than the context allows. */
#ifndef CVY_CPU_SHARED_WORKSPACE_H
#define CVY_CPU_SHARED_WORKSPACE_H

#include "backend.h"

/* Whether a workspace of so many bytes is allowed. If not, writes the reason with its numbers. */
bool cvy_cpu_fits(int64_t bytes, const cvy_facts *facts, cvy_text *reason);

#endif
