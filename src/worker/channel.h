/* The library's side of the ring: posts commands, waits for the other side, notices its end. */
#ifndef CVY_CHANNEL_H
#define CVY_CHANNEL_H

#include "worker/notice.h"
#include "worker/peer.h"
#include "worker/progress_timeout.h"

typedef struct cvy_channel {
  cvy_wire *wire;
  cvy_shared ring;
  int socket;
  cvy_peer peer;
  uint64_t posted;
  uint64_t taken; /* as last seen */
  cvy_deadlines *deadlines;
  double *budget;    /* seconds that waits may take, as in cvy_open_options */
  cvy_spent *spent;  /* the same */
  bool on_processor; /* the device is one */
  bool lost;         /* the other side is gone, or hangs, or writes nonsense: for good */
  bool may_be_behind;
  bool behind; /* it is not lost for good, but is left to itself (CVY_BEHIND_STILL) */
  cvy_progress_timeout watch; /* then: whether it still gets on */
  cvy_notice notice;
  bool by_accident; /* it was gone, or something came between the two */
  convoy_status lost_status;
  char why[256];
  uint64_t completed;           /* when it was lost */
  int32_t step;                 /* of a plan, that the device was at then, or -1 */
  bool ended;                   /* the other side has been ended, or abandoned */
  bool left_behind;             /* it is still there */
  size_t mapped;                /* bytes of blocks */
  bool blocks[CVY_WIRE_BLOCKS]; /* numbers in use */
} cvy_channel;

/* Starts the other side and greets it. Tickets go on from `begin`; the deadlines outlive the
 * channel. */
convoy_status cvy_channel_open(cvy_channel *channel, int32_t isolation, cvy_deadlines *deadlines,
                               double *budget, uint64_t begin);
/* Ends it, in bounded time: no more than the budget, but for what killing takes. */
void cvy_channel_close(cvy_channel *channel);
/* A channel whose other side has failed to do what it must: ends that for good. */
void cvy_channel_lose(cvy_channel *channel, convoy_status status, const char *why);

/* Whether the other side is behind; one that does not get on any more is lost. */
cvy_behind cvy_channel_behind(cvy_channel *channel);
/* Waits until it has caught up, and takes the channel into use again. */
convoy_status cvy_channel_catch_up(cvy_channel *channel);
/* Puts a command that nobody waits for into the ring, also of one that is behind; false: there is
 * no room. */
bool cvy_channel_put(cvy_channel *channel, const cvy_command *command);

/* Puts a command into the ring; *ticket (may be NULL) is its number. Waits only for room. */
convoy_status cvy_channel_post(cvy_channel *channel, const cvy_command *command, uint64_t *ticket);
/* Waits until the engine has been handed command `ticket`. */
convoy_status cvy_channel_taken(cvy_channel *channel, uint64_t ticket,
                                const volatile int *interrupt);
/* Waits until command `ticket` is done; a fault up to it is returned with its number. */
convoy_status cvy_channel_wait(cvy_channel *channel, uint64_t ticket, const volatile int *interrupt,
                               uint64_t *fault);
/* The same, well done or not: who is to hear of a fault asks for it. */
convoy_status cvy_channel_done(cvy_channel *channel, uint64_t ticket);
/* The fault among the commands up to `ticket`, if one is known. */
convoy_status cvy_channel_fault(cvy_channel *channel, uint64_t ticket, uint64_t *fault);
/* Posts a command that replies, and waits for that. Once interrupted it may only be closed: the
 * reply is still to come. */
convoy_status cvy_channel_ask(cvy_channel *channel, const cvy_command *command,
                              const volatile int *interrupt, cvy_wire_reply *reply);

/* Memory that both sides have mapped. */
typedef struct cvy_lane_block {
  cvy_shared shared;
  uint32_t number;
} cvy_lane_block;

convoy_status cvy_channel_map(cvy_channel *channel, size_t bytes, bool inherit,
                              cvy_lane_block *out);
/* Takes it back, after the commands posted so far, and drops this side's mapping. */
void cvy_channel_unmap(cvy_channel *channel, cvy_lane_block *block);

#endif
