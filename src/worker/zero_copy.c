/* Transfers without staging. What is read comes in parts, so that a large array is no single
 * command for a deadline to wait for. */
#include "worker/zero_copy.h"

#include "worker/lane_memory.h"

#define PAGE ((uintptr_t)4096)
#define PART_BYTES ((int64_t)64 << 20)

static cvy_mapped_part find(const cvy_channel *channel, char *memory, int64_t bytes) {
  cvy_mapped_part span = {.memory = memory, .bytes = bytes};
  bool found = bytes > 0 && cvy_lane_find(channel, memory, bytes, &span.block, &span.block_offset);
  return found ? span : (cvy_mapped_part){.memory = memory};
}

cvy_mapped_part cvy_zero_copy_source(const cvy_channel *channel, const void *from, int64_t bytes) {
  return find(channel, (char *)(uintptr_t)from, bytes); /* it is only read from */
}

cvy_mapped_part cvy_zero_copy_target(const cvy_channel *channel, void *to, int64_t bytes) {
  const uintptr_t begin = ((uintptr_t)to + PAGE - 1) & ~(PAGE - 1);
  const uintptr_t end = ((uintptr_t)to + (uintptr_t)bytes) & ~(PAGE - 1);
  const cvy_mapped_part none = {.memory = to};
  if (end <= begin) return none;
  const cvy_mapped_part pages = find(channel, (char *)begin, (int64_t)(end - begin));
  return pages.bytes > 0 ? pages : none;
}

static convoy_status post(cvy_channel *channel, cvy_command_kind kind, uint64_t array, int64_t at,
                          const cvy_mapped_part *span, uint64_t *ticket) {
  const cvy_command command = {
      kind, .transfer = {array, at, span->bytes, span->block, span->block_offset}};
  return cvy_channel_post(channel, &command, ticket);
}

convoy_status cvy_zero_copy_write(cvy_channel *channel, uint64_t id, const cvy_mapped_part *span,
                                  uint64_t *ticket) {
  convoy_status status = post(channel, CVY_WRITE, id, 0, span, ticket);
  return status ? status : cvy_channel_done(channel, *ticket);
}

/* Part of a span. */
static cvy_mapped_part part_of(const cvy_mapped_part *span, int64_t at) {
  int64_t left = span->bytes - at;
  return (cvy_mapped_part){.memory = span->memory + at,
                           .bytes = left < PART_BYTES ? left : PART_BYTES,
                           .block = span->block,
                           .block_offset = span->block_offset + at};
}

/* A worker that nothing could end, or that is behind, keeps the pages it has; the caller gets fresh
 * ones in their place. */
static void part_with(const cvy_mapped_part *span) {
  const convoy_status status = cvy_shared_renew(span->memory, (size_t)span->bytes);
  if (status)
    cvy_log(CONVOY_LOG_ERROR, "an abandoned worker may still write to %lld bytes at %p: %s",
            (long long)span->bytes, (void *)span->memory, cvy_last_error());
}

convoy_status cvy_zero_copy_read(cvy_channel *channel, uint64_t id, int64_t offset,
                                 const cvy_mapped_part *span) {
  convoy_status status = CONVOY_OK;
  uint64_t ticket = 0;
  for (int64_t at = 0; !status && at < span->bytes; at += PART_BYTES) {
    const cvy_mapped_part part = part_of(span, at);
    status = post(channel, CVY_READ, id, offset + at, &part, &ticket);
  }
  if (ticket && !status) status = cvy_channel_wait(channel, ticket, NULL, NULL);
  if (ticket && (channel->left_behind || channel->behind)) part_with(span);
  if (ticket && channel->behind) cvy_lane_orphan(channel);
  return status;
}
