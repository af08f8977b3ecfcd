/* The staging block of a lane: a few MiB at a time, ordinary host memory travels through it. */
#ifndef CVY_STAGING_H
#define CVY_STAGING_H

#include "worker/channel.h"

enum { CVY_STAGING_PARTS = 256 };

/* A piece of the block, in use until command `ticket` is done and nobody holds it any more. */
typedef struct cvy_part {
  size_t begin, end;
  uint64_t ticket;
  bool held; /* it has no command yet, or is still to be copied out */
} cvy_part;

/* Zero-initialised; the block is made by the first transfer. */
typedef struct cvy_staging {
  cvy_lane_block block;
  size_t next; /* where the next part begins */
  cvy_part parts[CVY_STAGING_PARTS];
  uint32_t first, count; /* parts in use, oldest first */
} cvy_staging;

/* Whether a block can be made here; what forbids it now will do so later, at each transfer. */
convoy_status cvy_staging_check(void);

/* Copies `bytes` of host memory through the block to array `id`; returns when they are copied. */
convoy_status cvy_staging_write(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                                const char *from, int64_t bytes, uint64_t *ticket);
/* The same for parts of the first `bytes` of the array, which are one part of the block. */
convoy_status cvy_staging_pack(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                               int32_t count, const cvy_packed *parts, int64_t bytes,
                               uint64_t *ticket);
/* The way back, from `offset` of the array on; returns when `to` is filled. */
convoy_status cvy_staging_read(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                               int64_t offset, char *to, int64_t bytes);

/* The way back in two halves, of which the first does not wait. *ticket is 0 where there is no
 * room, before others have been collected or at all. In a block of its own: what is fetched holds
 * its part until it is collected, once, in any order. `to` NULL: it is not wanted any more. */
convoy_status cvy_staging_fetch(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                                int64_t bytes, uint64_t *ticket);
convoy_status cvy_staging_collect(cvy_staging *staging, cvy_channel *channel, uint64_t ticket,
                                  char *to, int64_t bytes);

void cvy_staging_drop(cvy_staging *staging);

#endif
