/* The one refusal that every row has. */
#include "cpu/shared/workspace.h"

bool cvy_cpu_fits(int64_t bytes, const cvy_facts *facts, cvy_text *reason) {
  if (bytes <= facts->workspace_limit) return true;
  cvy_text_add(reason, "%lld bytes of workspace for %lld threads, the limit is %lld",
               (long long)bytes, (long long)facts->info.compute_units,
               (long long)facts->workspace_limit);
  return false;
}
