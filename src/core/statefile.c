/* Naming and reading the files of a record. */
#include "core/statefile.h"

#include "os/os.h"

convoy_status cvy_statefile_find(const char *name, cvy_statefile *out) {
  char folder[3900];
  const convoy_status status = cvy_state_folder("", folder, sizeof folder);
  if (status) return status;
  cvy_text file = cvy_text_in(out->file, sizeof out->file);
  cvy_text lock = cvy_text_in(out->lock, sizeof out->lock);
  cvy_text_add(&file, "%s/%s.txt", folder, name);
  cvy_text_add(&lock, "%s/%s.lock", folder, name);
  return CONVOY_OK;
}

convoy_status cvy_statefile_read(const cvy_statefile *at, char **text) {
  enum { MOST = 1 << 20 }; /* by far more than is ever written */
  size_t count;
  const convoy_status status = cvy_file_read(at->file, MOST, text, &count);
  return status == CONVOY_ERR_NOT_FOUND ? CONVOY_OK : status;
}
