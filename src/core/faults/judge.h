/* What the markers mean that others left behind: that a device is in use just now, that
 * a trainer was killed, or that the machine went down while the device was in use. docs/failover.md
 * has the rule. */
#ifndef CVY_JUDGE_H
#define CVY_JUDGE_H

#include "core/faults/in_use_marker.h"
#include "os/os.h"

/* Where and when a marker is judged. */
typedef struct cvy_here {
  char machine[64], boot[64], space[32];
  int64_t began, now; /* this boot; seconds since 1970 */
} cvy_here;

typedef enum cvy_verdict {
  CVY_MARKER_STAYS, /* not ours to judge, or not yet */
  CVY_MARKER_OVER,  /* means nothing, any more */
  CVY_MARKER_CRASH  /* the machine went down */
} cvy_verdict;

/* `others` is when another marker of the same boot was seen last. *why gets the reason. */
cvy_verdict cvy_judge(const cvy_marker *marker, const cvy_here *here, int64_t others,
                      const char **why);

/* Judges all there are, keeps the times the machine went down and removes what is over. */
void cvy_judge_all(void);

#endif
