/* Host memory that a worker maps too: convoy_host_alloc. */
#ifndef CVY_LANE_MEMORY_H
#define CVY_LANE_MEMORY_H

#include "worker/channel.h"

/* Memory of whole pages, all zero; NULL with a sentence. Small pieces are ordinary memory. */
void *cvy_lane_alloc(cvy_channel *channel, size_t bytes);
/* From any thread, also after the channel is closed. NULL is allowed. */
void cvy_lane_free(void *memory);
/* Whether [at, at + bytes) lies in a block of this channel; its number and the offset there. */
bool cvy_lane_find(const cvy_channel *channel, const void *at, int64_t bytes, uint32_t *number,
                   int64_t *offset);
/* Bytes of blocks this channel holds, handed out or kept for the next call. */
int64_t cvy_lane_bytes(const cvy_channel *channel);
/* The channel closes: what is handed out stays mapped until it is freed. */
void cvy_lane_orphan(const cvy_channel *channel);

#endif
