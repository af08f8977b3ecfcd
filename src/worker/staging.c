/* Staging: a ring of parts in one shared block, so that the caller's copying of one part overlaps
 * the worker's transfer of another. The block is touched once and reused: the first touch of such
 * pages runs at 1 GB/s, copying into them later at 5 to 12. */
#include "worker/staging.h"

#define BLOCK_BYTES ((size_t)64 << 20)
#define PART_BYTES CVY_PACK_BYTES /* several fit, for a processor that copies by one thread */
#define READ_AHEAD 4              /* parts on their way while one is copied out */

/* ---------------------------------------------------------------------------- parts */

static cvy_part *oldest(cvy_staging *staging) {
  return &staging->parts[staging->first];
}

static void retire(cvy_staging *staging, const cvy_channel *channel) {
  uint64_t done = atomic_load(&channel->wire->completed);
  while (staging->count > 0 && !oldest(staging)->held && oldest(staging)->ticket <= done) {
    staging->first = (staging->first + 1) % CVY_STAGING_PARTS;
    staging->count--;
  }
}

/* Finds `bytes` in a row without touching parts in use. An idle ring starts over at 0: the pages
 * there have been touched. */
static bool fits(const cvy_staging *staging, size_t bytes, size_t *begin) {
  size_t next = staging->next, limit = staging->parts[staging->first].begin;
  *begin = staging->count ? next : 0;
  if (staging->count == 0) return true;
  if (staging->count == CVY_STAGING_PARTS) return false;
  if (next <= limit) return limit - next >= bytes;
  if (BLOCK_BYTES - next >= bytes) return true;
  *begin = 0;
  return limit >= bytes;
}

/* A part of the block, held; false if there is no room now. */
static bool place(cvy_staging *staging, const cvy_channel *channel, int64_t bytes, cvy_part **out) {
  size_t begin, size = ((size_t)bytes + 63) & ~(size_t)63; /* parts do not share cache lines */
  retire(staging, channel);
  if (!fits(staging, size, &begin)) return false;
  *out = &staging->parts[(staging->first + staging->count++) % CVY_STAGING_PARTS];
  **out = (cvy_part){begin, begin + size, 0, true};
  staging->next = begin + size;
  return true;
}

/* Waits for room: only where what is held is let go of by the caller itself. */
static convoy_status take(cvy_staging *staging, cvy_channel *channel, int64_t bytes,
                          cvy_part **out) {
  while (!place(staging, channel, bytes, out)) {
    convoy_status status = cvy_channel_done(channel, oldest(staging)->ticket);
    if (status) return status;
  }
  return CONVOY_OK;
}

convoy_status cvy_staging_check(void) {
  cvy_shared block;
  const convoy_status status = cvy_shared_make(BLOCK_BYTES, false, &block);
  if (!status) cvy_shared_drop(&block); /* nothing of it has been touched */
  return status;
}

static convoy_status prepare(cvy_staging *staging, cvy_channel *channel) {
  if (staging->block.shared.memory) return CONVOY_OK;
  return cvy_channel_map(channel, BLOCK_BYTES, false, &staging->block);
}

/* A block that was never made has no descriptor: its 0 is the host program's standard input. */
void cvy_staging_drop(cvy_staging *staging) {
  if (staging->block.shared.memory) cvy_shared_drop(&staging->block.shared);
  *staging = (cvy_staging){0};
}

/* ------------------------------------------------------------------------ transfers */

static char *memory_of(const cvy_staging *staging, const cvy_part *part) {
  return (char *)staging->block.shared.memory + part->begin;
}

static convoy_status post(cvy_staging *staging, cvy_channel *channel, cvy_command_kind kind,
                          uint64_t array, int64_t at, int64_t bytes, cvy_part *part) {
  const cvy_command command = {
      kind, .transfer = {array, at, bytes, staging->block.number, (int64_t)part->begin}};
  return cvy_channel_post(channel, &command, &part->ticket);
}

static int64_t part_bytes(int64_t left) {
  return left < PART_BYTES ? left : PART_BYTES;
}

/* Parts that are copied into the block in one go. */
typedef struct parts_in {
  cvy_staging *staging;
  cvy_channel *channel;
  uint64_t id, ticket;
  convoy_status status;
  int32_t count;
  cvy_part *part[CVY_STAGING_PARTS];
  int64_t at[CVY_STAGING_PARTS];
  cvy_copy_part copy[CVY_STAGING_PARTS];
} parts_in;

static void post_part(void *user, int32_t i) {
  parts_in *in = user;
  cvy_part *part = in->part[i];
  if (!in->status)
    in->status =
        post(in->staging, in->channel, CVY_WRITE, in->id, in->at[i], in->copy[i].bytes, part);
  if (!in->status) in->ticket = part->ticket;
  part->held = false;
}

/* As many parts as there is room for: the first waits for it. Returns where they end. */
static int64_t place_parts(parts_in *in, const char *from, int64_t at, int64_t bytes) {
  in->count = 0;
  while (at < bytes && in->count < CVY_STAGING_PARTS) {
    cvy_part **part = &in->part[in->count];
    int64_t count = part_bytes(bytes - at);
    if (in->count == 0)
      in->status = take(in->staging, in->channel, count, part);
    else if (!place(in->staging, in->channel, count, part))
      break;
    if (in->status) break;
    in->at[in->count] = at;
    in->copy[in->count++] = (cvy_copy_part){memory_of(in->staging, *part), from + at, count};
    at += count;
  }
  return at;
}

convoy_status cvy_staging_write(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                                const char *from, int64_t bytes, uint64_t *ticket) {
  parts_in in;
  in.staging = staging;
  in.channel = channel;
  in.id = id;
  in.ticket = 0;
  in.status = prepare(staging, channel);
  for (int64_t at = 0; !in.status && at < bytes;) {
    at = place_parts(&in, from, at, bytes);
    cvy_copy_parts(in.copy, in.count, post_part, &in);
  }
  if (in.ticket && ticket) *ticket = in.ticket;
  return in.status;
}

static void copy_packed(char *to, int32_t count, const cvy_packed *parts) {
  cvy_copy_part copies[CVY_STAGING_PARTS];
  for (int32_t begin = 0; begin < count; begin += CVY_STAGING_PARTS) {
    int32_t n = 0;
    for (int32_t i = begin; i < count && n < CVY_STAGING_PARTS; i++)
      copies[n++] = (cvy_copy_part){to + parts[i].at, parts[i].from, parts[i].bytes};
    cvy_copy_parts(copies, n, NULL, NULL);
  }
}

convoy_status cvy_staging_pack(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                               int32_t count, const cvy_packed *parts, int64_t bytes,
                               uint64_t *ticket) {
  cvy_part *part;
  convoy_status status = prepare(staging, channel);
  if (!status) status = take(staging, channel, bytes, &part);
  if (status) return status;
  copy_packed(memory_of(staging, part), count, parts);
  status = post(staging, channel, CVY_WRITE, id, 0, bytes, part);
  part->held = false;
  if (!status && ticket) *ticket = part->ticket;
  return status;
}

/* A read on its way. */
typedef struct pending {
  cvy_part *part;
  int64_t at, bytes;
} pending;

static convoy_status ask(cvy_staging *staging, cvy_channel *channel, uint64_t id, int64_t offset,
                         int64_t at, int64_t bytes, pending *out) {
  *out = (pending){NULL, at, part_bytes(bytes - at)};
  convoy_status status = take(staging, channel, out->bytes, &out->part);
  if (status) return status;
  return post(staging, channel, CVY_READ, id, offset + at, out->bytes, out->part);
}

static convoy_status receive(cvy_staging *staging, cvy_channel *channel, cvy_part *part, char *to,
                             int64_t bytes) {
  convoy_status status = cvy_channel_wait(channel, part->ticket, NULL, NULL);
  if (!status) cvy_copy(to, memory_of(staging, part), bytes);
  part->held = false;
  return status;
}

convoy_status cvy_staging_read(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                               int64_t offset, char *to, int64_t bytes) {
  pending reads[READ_AHEAD];
  if (bytes == 0) return CONVOY_OK;
  int64_t asked = 0; /* bytes */
  uint32_t first = 0, count = 0;
  convoy_status status = prepare(staging, channel);
  while (!status && (count > 0 || asked < bytes)) {
    if (count < READ_AHEAD && asked < bytes) {
      status =
          ask(staging, channel, id, offset, asked, bytes, &reads[(first + count) % READ_AHEAD]);
      asked += PART_BYTES;
      count += !status;
    } else {
      const pending *read = &reads[first];
      status = receive(staging, channel, read->part, to + read->at, read->bytes);
      first = (first + 1) % READ_AHEAD;
      count--;
    }
  }
  /* After a failure the parts still asked for are free once their commands are done. */
  for (; count > 0; --count, first = (first + 1) % READ_AHEAD) reads[first].part->held = false;
  return status;
}

/* -------------------------------------------------------------------------- two halves */

convoy_status cvy_staging_fetch(cvy_staging *staging, cvy_channel *channel, uint64_t id,
                                int64_t bytes, uint64_t *ticket) {
  cvy_part *part;
  *ticket = 0;
  if (bytes > (int64_t)BLOCK_BYTES) return CONVOY_OK;
  convoy_status status = prepare(staging, channel);
  if (status) return channel->lost ? status : CONVOY_OK; /* no memory for a block: no room */
  if (!place(staging, channel, bytes, &part)) return CONVOY_OK;
  status = post(staging, channel, CVY_READ, id, 0, bytes, part);
  *ticket = part->ticket;
  return status;
}

static cvy_part *part_of(cvy_staging *staging, uint64_t ticket) {
  for (uint32_t i = 0; i < staging->count; i++) {
    cvy_part *part = &staging->parts[(staging->first + i) % CVY_STAGING_PARTS];
    if (part->held && part->ticket == ticket) return part;
  }
  return NULL;
}

convoy_status cvy_staging_collect(cvy_staging *staging, cvy_channel *channel, uint64_t ticket,
                                  char *to, int64_t bytes) {
  cvy_part *part = part_of(staging, ticket);
  if (part && to) return receive(staging, channel, part, to, bytes);
  if (part) part->held = false;
  return to ? cvy_fail(CONVOY_ERR_DEVICE, "the copy went with its worker") : CONVOY_OK;
}
