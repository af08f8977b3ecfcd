/* A block: device memory that several stores lie in, as what a run of a graph makes. It goes when
 * the last of them has gone. */
#ifndef CVY_BLOCK_H
#define CVY_BLOCK_H

#include "core/context.h"

typedef struct cvy_block {
  convoy_context *context;
  uint64_t array;
  int64_t bytes;
  int references;
} cvy_block;

/* Where what lies behind so many bytes of a block may begin. */
static inline int64_t cvy_block_aligned(int64_t bytes) {
  return (bytes + CVY_PLACE_ALIGN - 1) / CVY_PLACE_ALIGN * CVY_PLACE_ALIGN;
}

/* One reference. What the backend says of it; ERR_MEMORY. */
convoy_status cvy_block_new(convoy_context *context, int64_t bytes, cvy_block **out);
void cvy_block_drop(cvy_block *block); /* NULL allowed */

#endif
