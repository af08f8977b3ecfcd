/* What a wait says that takes long for a reason that passes: compiling, opening, listing. */
#ifndef CVY_NOTICE_H
#define CVY_NOTICE_H

#include "worker/wire.h"

/* Nobody is to wait longer than that without a word. */
#define CVY_NOTICE_SECONDS 3.0

typedef struct cvy_notice {
  char device[32];    /* "": not open yet */
  uint64_t asked;     /* commands to prepare so far */
  uint64_t compiles;  /* when it began */
  double begin, seen; /* clocks: since when, and when it was last seen to be at it; 0: never */
  double said;        /* 0: nothing so far */
} cvy_notice;

/* Called again and again while somebody waits. A line of log after CVY_NOTICE_SECONDS, and on a
 * terminal more of them. */
void cvy_notice_look(cvy_notice *notice, const cvy_wire *wire);

#endif
