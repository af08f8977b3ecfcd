/* Workers that did not die when they were to: what they still hold is counted until they have. */
#ifndef CVY_ABANDONED_H
#define CVY_ABANDONED_H

#include "worker/peer.h"

/* Takes over the peer and its ring; `bytes` of shared memory stay with it. */
void cvy_abandon(const cvy_peer *peer, const cvy_shared *ring, int64_t bytes);
/* How many there have been in this process, and the bytes that those still alive hold. */
void cvy_abandoned_count(int64_t *workers, int64_t *bytes);

#endif
