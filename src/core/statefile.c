/* Naming and reading the files of a record. */
#include "core/statefile.h"

#include <stdio.h>

#include "os/os.h"

convoy_status cvy_statefile_find(const char *name, cvy_statefile *out) {
  char text[64], lock[64];
  snprintf(text, sizeof text, "/%s.txt", name);
  snprintf(lock, sizeof lock, "/%s.lock", name);
  const convoy_status status = cvy_state_path("", text, out->file, sizeof out->file);
  return status ? status : cvy_state_path("", lock, out->lock, sizeof out->lock);
}

convoy_status cvy_statefile_read(const cvy_statefile *at, char **text) {
  enum { MOST = 1 << 20 }; /* by far more than is ever written */
  size_t count;
  const convoy_status status = cvy_file_read(at->file, CVY_FILE_TEXT, MOST, text, &count);
  return status == CONVOY_ERR_NOT_FOUND ? CONVOY_OK : status;
}
