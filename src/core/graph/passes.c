/* CONVOY_GRAPH_PASSES. */
#include "core/graph/passes.h"

#include <string.h>

static const char *const names[CVY_PASSES] = {
    [CVY_PASS_COMMON] = "common",       [CVY_PASS_FUSE] = "fuse",   [CVY_PASS_MERGE] = "merge",
    [CVY_PASS_RECOMPUTE] = "recompute", [CVY_PASS_VIEWS] = "views",
};

static convoy_status refuse(const char *name, size_t length) {
  char all[128];
  cvy_text text = cvy_text_in(all, sizeof all);
  for (int i = 0; i < CVY_PASSES; i++) cvy_text_add(&text, "%s%s", i ? ", " : "", names[i]);
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "CONVOY_GRAPH_PASSES has \"%.*s\"; it may be all, none, or some of %s",
                  (int)(length < 64 ? length : 64), name, all);
}

static convoy_status parse_name(const char *name, size_t length, uint32_t *out) {
  for (int i = 0; i < CVY_PASSES; i++) {
    if (strlen(names[i]) != length || strncmp(names[i], name, length) != 0) continue;
    *out |= 1u << i;
    return CONVOY_OK;
  }
  return refuse(name, length);
}

convoy_status cvy_passes_parse(const char *text, uint32_t *out) {
  *out = (1u << CVY_PASSES) - 1;
  if (!text || strcmp(text, "all") == 0) return CONVOY_OK;
  *out = 0;
  if (strcmp(text, "none") == 0) return CONVOY_OK;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, ",");
    convoy_status status = parse_name(at, length, out);
    at += length;
    if (status || !*at) return status;
  }
}
