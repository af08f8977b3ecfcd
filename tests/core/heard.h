/* What a context has told of values that are not finite. */
#ifndef HEARD_H
#define HEARD_H

#include <string.h>

#include "convoy/convoy.h"

typedef struct heard {
  int count;
  char message[256]; /* the last */
} heard;

/* An event callback, whose user is a `heard`. */
static inline void hear_nonfinite(void *user, const convoy_event *event) {
  heard *all = user;
  if (event->kind != CONVOY_EVENT_NONFINITE) return;
  all->count++;
  strcpy(all->message, event->message);
}

#endif
