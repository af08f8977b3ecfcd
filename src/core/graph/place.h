/* Where the results of a plan lie in a device's memory. */
#ifndef CVY_PLACE_H
#define CVY_PLACE_H

#include "core/graph/plan.h"

enum { CVY_NOWHERE = -1 };

/* Bases: blocks that all runs share, for what is made on the way; blocks that each run has of its
 * own, for what tensors get, in which what the next run reads lies apart from the rest; then one
 * for each input, in the plan's order; and homes, foreign memory that a result is made in,
 * in the order of the outputs. */
typedef struct cvy_places {
  int32_t shared, own, homes, bases; /* how many of each, and in all */
  int64_t *bytes;                    /* of each block */
  int32_t *base;                     /* of each value; CVY_NOWHERE of what has no elements */
  int64_t *at;
  bool *home; /* of each output, whether it is made in its home: not what the run reads, of which a
                 part may be read after another has been written, nor what several tensors get */
} cvy_places;

/* Blocks have as many bytes as the plan's device allocates at once, at most. ERR_UNSUPPORTED where
 * a value has more; ERR_MEMORY. There is nothing to free then. */
convoy_status cvy_places_find(const cvy_plan *plan, cvy_places *out);
void cvy_places_free(cvy_places *places);

#endif
