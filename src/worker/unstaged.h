/* Transfers without staging: the worker's driver moves memory of convoy_host_alloc itself. */
#ifndef CVY_UNSTAGED_H
#define CVY_UNSTAGED_H

#include "worker/channel.h"

/* A part of the caller's memory that the worker has mapped. */
typedef struct cvy_span {
  char *memory;
  int64_t bytes; /* 0: there is none */
  uint32_t block;
  int64_t block_offset;
} cvy_span;

/* All of [from, from + bytes), or nothing. */
cvy_span cvy_unstaged_source(const cvy_channel *channel, const void *from, int64_t bytes);
/* The whole pages of [to, to + bytes): what shares a page with something else may not be handed out. */
cvy_span cvy_unstaged_target(const cvy_channel *channel, void *to, int64_t bytes);

/* Moves a span to array `id`; it is in use until the engine has been handed the command, which is when
 * the call returns. */
convoy_status cvy_unstaged_write(cvy_channel *channel, uint64_t id, const cvy_span *span,
                                 uint64_t *ticket);
/* Fills a span from `offset` of array `id`. Whatever a worker does that was given up, nothing lands there
 * once the call has returned; after a failure the contents are undefined. */
convoy_status cvy_unstaged_read(cvy_channel *channel, uint64_t id, int64_t offset,
                                const cvy_span *span);

#endif
