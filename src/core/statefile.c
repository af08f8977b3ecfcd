/* Naming the files of a record. */
#include "core/statefile.h"

#include "os/os.h"

convoy_status cvy_statefile_find(const char *name, cvy_statefile *out) {
  char folder[3900];
  if (!cvy_state_folder(folder, sizeof folder)) {
    return cvy_fail(CONVOY_ERR_IO, "there is no state folder: neither CONVOY_STATE_DIR nor HOME");
  }
  cvy_text file = cvy_text_in(out->file, sizeof out->file);
  cvy_text lock = cvy_text_in(out->lock, sizeof out->lock);
  cvy_text_add(&file, "%s/%s.txt", folder, name);
  cvy_text_add(&lock, "%s/%s.lock", folder, name);
  return CONVOY_OK;
}
