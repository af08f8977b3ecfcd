/* CONVOY_GRAPH_PASSES. */
#include "core/graph/passes.h"

static const char *const names[CVY_PASSES] = {
    [CVY_PASS_COMMON] = "common",       [CVY_PASS_FUSE] = "fuse",   [CVY_PASS_MERGE] = "merge",
    [CVY_PASS_RECOMPUTE] = "recompute", [CVY_PASS_VIEWS] = "views",
};

convoy_status cvy_passes_parse(const char *text, uint32_t *out) {
  return cvy_env_list("CONVOY_GRAPH_PASSES", text, names, CVY_PASSES, out);
}
