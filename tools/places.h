/* Folders of the user's: where Convoy keeps things, and how a path is printed for others. */
#ifndef PLACES_H
#define PLACES_H

#include <stdbool.h>
#include <stddef.h>

/* As the library has them: CONVOY_STATE_DIR and CONVOY_TUNE_FILE, else by the XDG rule. False: nowhere,
 * or the path is too long. */
bool places_state_folder(char *out, size_t size);
bool places_tune_file(char *out, size_t size);

/* Makes the folders of a file that is to be written, and finds out whether it can be; 0 or errno. */
int places_check_writable(const char *path);

/* `text` with "~" for the home folder wherever its path occurs, since it mostly holds the user's name.
 * Cut if it is too long. Returns `out`. */
const char *places_without_home(const char *text, char *out, size_t size);

#endif
