/* Where a record of the state folder lies: a text, and beside it the file that is locked while the text is
 * read, changed and replaced. */
#ifndef CVY_STATEFILE_H
#define CVY_STATEFILE_H

#include "base/base.h"

#define CVY_STATEFILE_LOCK_SECONDS 1.0 /* nobody holds it for longer than a write takes */

typedef struct cvy_statefile {
  char file[4096], lock[4096];
} cvy_statefile;

/* NAME.txt and NAME.lock; fails as cvy_state_path. */
convoy_status cvy_statefile_find(const char *name, cvy_statefile *out);
/* The text, to be freed, NULL if there is none yet; ERR_IO with a sentence if it cannot be read. */
convoy_status cvy_statefile_read(const cvy_statefile *at, char **text);

#endif
