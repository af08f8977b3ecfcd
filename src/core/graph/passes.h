/* The passes of planning by name, to leave some out. */
#ifndef CVY_PASSES_H
#define CVY_PASSES_H

#include "base/base.h"

enum {
  CVY_PASS_COMMON,
  CVY_PASS_FUSE,
  CVY_PASS_MERGE,
  CVY_PASS_RECOMPUTE,
  CVY_PASS_VIEWS,
  CVY_PASSES
};

/* Which passes run, in bits of those numbers: all where the text is NULL or "all", none with
 * "none", else those named, with commas between. ERR_ARGUMENT names the word that is none. */
convoy_status cvy_passes_parse(const char *text, uint32_t *out);

#endif
