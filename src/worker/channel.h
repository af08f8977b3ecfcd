/* The library's side of the ring: posts commands, waits for the other side, notices its end. */
#ifndef CVY_CHANNEL_H
#define CVY_CHANNEL_H

#include "worker/peer.h"

typedef struct cvy_channel {
  cvy_wire *wire;
  cvy_shared ring;
  int socket;
  cvy_peer peer;
  uint64_t posted;
  bool lost; /* the other side is gone, or what it wrote makes no sense: for good */
  char why[256];
  bool blocks[CVY_WIRE_BLOCKS]; /* numbers in use */
} cvy_channel;

/* Starts the other side and greets it. */
convoy_status cvy_channel_open(cvy_channel *channel, int32_t isolation);
/* Ends it, in bounded time. */
void cvy_channel_close(cvy_channel *channel);

/* Puts a command into the ring; *ticket (may be NULL) is its number. Waits only for room. */
convoy_status cvy_channel_post(cvy_channel *channel, const cvy_command *command, uint64_t *ticket);
/* Waits until the engine has been handed command `ticket`. */
convoy_status cvy_channel_taken(cvy_channel *channel, uint64_t ticket);
/* Waits until command `ticket` is done; a fault up to it is returned with its number. */
convoy_status cvy_channel_wait(cvy_channel *channel, uint64_t ticket, const volatile int *interrupt,
                               uint64_t *fault);
/* The fault among the commands up to `ticket`, if one is known. */
convoy_status cvy_channel_fault(cvy_channel *channel, uint64_t ticket, uint64_t *fault);
/* Posts a command that replies, and waits for that. */
convoy_status cvy_channel_ask(cvy_channel *channel, const cvy_command *command,
                              cvy_wire_reply *reply);

/* Memory that both sides have mapped. */
typedef struct cvy_block {
  cvy_shared shared;
  uint32_t number;
} cvy_block;

convoy_status cvy_channel_map(cvy_channel *channel, size_t bytes, bool inherit, cvy_block *out);
/* Takes it back, after the commands posted so far, and drops this side's mapping. */
void cvy_channel_unmap(cvy_channel *channel, cvy_block *block);

#endif
