/* Naming and reading the files of a table. */
#include "core/state/state_file.h"

#include <stdio.h>

#include "os/os.h"

convoy_status cvy_state_file_find(const char *name, cvy_state_file *out) {
  char text[64], lock[64];
  snprintf(text, sizeof text, "/%s.txt", name);
  snprintf(lock, sizeof lock, "/%s.lock", name);
  convoy_status status = cvy_state_path("", text, out->file, sizeof out->file);
  return status ? status : cvy_state_path("", lock, out->lock, sizeof out->lock);
}

convoy_status cvy_state_file_read(const cvy_state_file *at, char **text) {
  enum { MOST = 1 << 20 }; /* by far more than is ever written */
  size_t count;
  convoy_status status = cvy_file_read(at->file, CVY_FILE_TEXT, MOST, text, &count);
  return status == CONVOY_ERR_NOT_FOUND ? CONVOY_OK : status;
}
