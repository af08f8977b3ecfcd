/* Says in which of the user's folders Convoy keeps things, and prints paths for others. */
#ifndef COMMON_PLACES_H
#define COMMON_PLACES_H

#include <stdbool.h>
#include <stddef.h>

/* Finds places as the library does: by CONVOY_STATE_DIR and CONVOY_TUNE_FILE, else by the XDG rule.
 * Returns false if there is none, or if the path is too long. */
bool places_state_folder(char *out, size_t size);
bool places_tune_file(char *out, size_t size);

/* Makes the folders of a file that is to be written, and finds out whether it can be. Returns 0 or
 * errno. */
int places_check_writable(const char *path);

/* Copies `text` with "~" for the home folder wherever its path occurs, since it mostly holds the
 * user's name. A copy that is too long is cut. Returns `out`. */
const char *places_without_home(const char *text, char *out, size_t size);

#endif
