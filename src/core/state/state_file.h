/* Where a table of the state folder lies: a text, and beside it the file that is locked while the
 * text is read, changed and replaced. */
#ifndef CVY_STATE_FILE_H
#define CVY_STATE_FILE_H

#include "base/base.h"

#define CVY_STATE_FILE_LOCK_SECONDS 1.0 /* no process holds it for longer than a write takes */

typedef struct cvy_state_file {
  char file[4096], lock[4096];
} cvy_state_file;

/* NAME.txt and NAME.lock; fails as cvy_state_path. */
convoy_status cvy_state_file_find(const char *name, cvy_state_file *out);
/* The text, to be freed, NULL if there is none yet; ERR_IO with a sentence if it cannot be read. */
convoy_status cvy_state_file_read(const cvy_state_file *at, char **text);

#endif
