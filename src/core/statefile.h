/* Where a record of the state folder lies: a text, and beside it the file that is locked while the text is
 * read, changed and replaced. */
#ifndef CVY_STATEFILE_H
#define CVY_STATEFILE_H

#include "base/base.h"

#define CVY_STATEFILE_LOCK_SECONDS 1.0 /* nobody holds it for longer than a write takes */

typedef struct cvy_statefile {
  char file[4096], lock[4096];
} cvy_statefile;

/* NAME.txt and NAME.lock; ERR_IO if there is no state folder. */
convoy_status cvy_statefile_find(const char *name, cvy_statefile *out);

#endif
